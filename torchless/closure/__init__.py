"""What each translation unit really reads, with ``#if`` conditions honoured, without a compiler."""

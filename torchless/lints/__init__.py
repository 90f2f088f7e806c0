"""What `torchless check` looks for, one lint per file: a function from a Context to findings, without effects."""

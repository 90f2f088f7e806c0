"""Flat dispatch tables: maps from a key to a function that are filled once become sorted arrays.

``spelling`` reads types off the tokens, ``scan`` gathers the aliases, maps and tables of one file, ``families`` joins
what has to change together over files, ``uses`` says what is done with a map and with what it holds, ``keys`` how keys
are ordered. ``emit`` writes the C++, ``printers`` finds where a Python generator prints rows and ``sorting`` has it
print them in order. ``estimate`` tells what a table costs; ``offer`` puts it all together.
"""

"""C++ that Python scripts print: texts of the scripts as files of C++, and edits of these back in the scripts.

A generator holds C++ in its strings. ``literals`` takes a string apart, ``templates`` finds the strings that are C++
and puts them together as the script does, ``sources`` makes sources of modules of them, and ``mapping`` brings edits
and findings back to where the text is spelled.
"""

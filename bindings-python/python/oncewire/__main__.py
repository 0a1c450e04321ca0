"""`python -m oncewire`: the command."""

from ._command import main

main()

"""The errors of the command line."""


class Advice(Exception):  # noqa: N818 - it is named for what it gives
    """Something that the person at the keyboard can put right. The message is one line that says how."""

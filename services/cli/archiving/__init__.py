"""The archive: signed records of matches that are over, compressed, in a directory or an S3-compatible store.

``place.py`` where files lie; ``keeping.py`` from the log into the archive; ``checking.py`` the archive, on its own;
``restoring.py`` from the archive into a log.
"""

"""``macao doctor``: what it looks at, one subject a file.

``finding.py`` what is told; ``patient.py`` what is looked at; ``server.py`` PostgreSQL itself; ``logs.py`` where the
logs are; ``schema.py`` migrations, rights, triggers; ``truth.py`` the log, its chains and its checkpoints;
``readers.py`` who reads it; ``secret_keys.py`` keys; ``around.py`` Redis, disks, clocks, services.

There may be several logs, on several servers: what concerns a log is looked at in each, where it lives.
"""

"""The engine: it decides moves, keeps matches in the log, and shows, replays and audits them.

``rules/`` is pure. ``play/`` (live matches over the event log), ``record``, ``replay`` and ``audit`` use it;
``http/`` puts them on the wire, and ``app`` wires everything together.
"""

"""The words on the wire: ids, event envelope, hash chain, events and problems.

Pure: imports msgspec and the pure part of the standard library, nothing else. Every service, the
rules and the offline verifier read and write through these modules, so a shape is defined once.
"""

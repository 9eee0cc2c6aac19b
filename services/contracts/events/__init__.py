"""Every event that the service stores: one struct a type, tagged with the type's name.

A type is never renamed and a field never changes its meaning. A new shape raises the struct's
``SCHEMA`` and adds an upcaster beside the decode function that all readers share
(``catalogue.decode``).
"""

"""The Merkle tree over the whole log, sealed off the hot path, and the proofs that are read from it.

``tiles`` is the arithmetic, ``store`` what stands in the database, ``outside`` the checkpoints that are kept apart from
it, ``sealer`` the job that makes the tree grow and signs it, ``proofs`` what others ask for. docs/adr/0011 says why.
"""

from services.runtime.tree.proofs import LogProofs, NotSealedError
from services.runtime.tree.sealer import Sealer
from services.runtime.tree.sealers import Sealers

__all__ = ["LogProofs", "NotSealedError", "Sealer", "Sealers"]

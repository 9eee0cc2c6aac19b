"""``python -m services.cli``, which is how the script ``macao`` starts us."""

import sys

from services.cli.main import main

sys.exit(main())

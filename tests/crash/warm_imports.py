"""What a worker imports when it first needs it, imported once in the fork server. Nothing is opened here."""

import damascus.agents
import damascus.engine.worker
import damascus.forges.local
import damascus.gates.acceptance
import damascus.gates.evidence
import damascus.gates.secrets
import damascus.git.landing
import damascus.git.setup
import damascus.git.snapshots
import damascus.git.workspaces
import damascus.store.embedded
import damascus.store.migrate  # noqa: F401

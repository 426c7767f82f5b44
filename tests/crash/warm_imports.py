"""What a worker imports when it first needs it, imported once in the fork server. Nothing is opened here."""

import damascus.agents
import damascus.engine.worker
import damascus.evidence.runner
import damascus.forges.local.forge
import damascus.gates.acceptance
import damascus.gates.secrets
import damascus.git.landing
import damascus.git.setup
import damascus.git.snapshots
import damascus.git.workspaces
import damascus.store.embedded.database
import damascus.store.migrate
import damascus.system.worker_log  # noqa: F401

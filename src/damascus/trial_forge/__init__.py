"""A Gitea of one's own for trying things out (`damascus forge try`): its programs, its settings, its process."""

"""The nouns of a session, the one commit, and all SQL."""

"""Bus and lease seams, the scheduler, the turn and the recovery coordinator."""

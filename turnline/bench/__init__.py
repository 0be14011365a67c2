"""`turnline bench`: the whole path on this machine, from accepted to delivered."""

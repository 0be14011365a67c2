"""The rules of the house, as tests. Each rule is a function of a root, proved on a planted bad tree."""

"""Drivers of the artifact store, and what moves files between a folder and a store."""

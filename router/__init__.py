"""Ingress, routing rules, channels, cron, webhooks, the HTTP API and the console."""

"""The relay and the adapters' contract: it carries effects out, and knows no sessions."""

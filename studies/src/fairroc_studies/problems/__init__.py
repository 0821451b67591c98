"""Whom the studies are about: public data, synthetic people, and honest splits of them."""

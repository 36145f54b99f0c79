"""The zoo: trained models that packages on a registry carry, fetched on demand and checked."""

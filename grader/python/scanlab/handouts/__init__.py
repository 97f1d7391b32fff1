"""The handouts as a site: the command that builds it, and what Sphinx learns from the kit."""

"""The Django project that the benchmark runs ForgeQueue in."""

"""Views of attention to show and to download: pages and tables."""

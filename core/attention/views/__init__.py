"""Views of attention to show and to download: pages, pictures, tables and recipes."""

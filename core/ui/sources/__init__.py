"""The section Corrections of the page Glossary and sources: errors in the sources, each with its evidence."""

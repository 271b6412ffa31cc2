"""What the site makes of the project when it is built: executed pages, pictures, figures, the reference."""

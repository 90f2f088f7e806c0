"""What a build costs and what of it is torch: lines, seconds, walls, and what follows from them."""

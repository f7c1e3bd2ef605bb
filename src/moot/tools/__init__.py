"""Tools that models may call: the seam, a fake, and servers that speak the Model Context Protocol."""

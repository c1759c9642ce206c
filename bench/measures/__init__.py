"""What is measured, one file each; all speak to the world through a Lab."""

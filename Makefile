# For hands that type make; everything is in ./forge.
.PHONY: help demo test check scenarios bench lock
help demo test check scenarios bench lock:
	@./forge $@

# What fits which GPU: the memory of a training step of models of real shapes, computed on a CPU.
.PHONY: sizes

sizes: $(INSTALLED) ## Memory of a training step on a GPU, computed for models of real shapes
	@mkdir -p runs/sizes
	OMP_NUM_THREADS=1 $(BIN)/python -m experiments.sizes | tee runs/sizes/table.md

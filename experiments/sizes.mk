# What fits which GPU: the memory of a training step of models of real shapes.
.PHONY: peaks card

# random models of the same shapes, two steps of `structkit train` in float32 each: bf16 is slow on most CPUs
peaks: $(INSTALLED) ## Memory of a training of real shapes on this machine: make -C experiments peaks [MODELS='BERT-base']
	@mkdir -p runs/sizes
	OMP_NUM_THREADS=2 $(BIN)/python -m experiments.peaks $(MODELS) | tee runs/sizes/peaks.md

# on a GPU: the same steps, and one with the settings of each paper
card: $(INSTALLED) ## Memory and time of training steps on this GPU: make -C experiments card [MODELS='BERT-base']
	@mkdir -p runs/sizes
	{ $(BIN)/python -m experiments.card memory $(MODELS); echo; $(BIN)/python -m experiments.card papers; } \
	  | tee runs/sizes/card.md

# Whether the lines that a list shows of an answer are those that answer, by labels made by hand.
.PHONY: shown

shown: $(INSTALLED) ## Judge the lines that ask shows
	$(call needs,repositories/files.jsonl.gz)
	@OMP_NUM_THREADS=1 $(BIN)/python -m experiments.shown --data $(DATA)/repositories

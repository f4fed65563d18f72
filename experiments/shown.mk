# Whether the lines that a list shows of an answer are those that answer, by labels made by hand.
.PHONY: shown

shown: $(INSTALLED) ## Judge the lines that ask shows: make -C experiments shown DATA=../shared/data/repositories
	@test -f '$(DATA)/files.jsonl.gz' || { echo 'name the data: make $@ DATA=FOLDER'; exit 2; }
	@OMP_NUM_THREADS=1 $(BIN)/python -m experiments.shown --data $(DATA)

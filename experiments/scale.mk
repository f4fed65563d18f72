# The stages of a search in many pages, in shards: what each costs, as docs/guide/scale.md counts on it. PAGES
# pages are made of the real ones (experiments/scale.py says how). Each shard is a file at every
# stage, and appears when it is whole: a run that was interrupted goes on with those that are missing,
# `make -j 2` works on two at a time. Pages are read by a table of token vectors; MiniLM, ten times as slow,
# reads the first SAMPLE.
.PHONY: scale

SCALE := runs/scale
PAGES := 100000
SHARDS := 10
SAMPLE := 1000
SCALE_QUERIES := 1000
PARTS := $(shell seq 0 $(shell expr $(SHARDS) - 1))
# runs a command, and writes what it cost beside what it makes
COST = OMP_NUM_THREADS=1 $(BIN)/python -m tests.benchmarks.processes $(basename $@).cost $(STRUCTKIT)
SCALE_SEARCH = -m $(SCALE)/static.model --query-field query --queries $(SCALE)/queries.jsonl

scale: $(INSTALLED) ## Pages through variants, embeddings, codes and search, in shards: make -C experiments scale PAGES=100000
	$(call needs,structdoc/train_docs-00.jsonl.gz)
	@$(MAKE) --no-print-directory $(SCALE)/table.md
	@cat $(SCALE)/table.md

$(SCALE)/static.model:
	@mkdir -p $(@D)
	OMP_NUM_THREADS=1 $(STRUCTKIT) train static --model minilm -o $@ < /dev/null

$(SCALE)/queries.jsonl: $(DATA)/structdoc/train_queries.jsonl.gz
	@mkdir -p $(@D)
	$(STRUCTKIT) select $< --sample $(SCALE_QUERIES) -o $@

$(SCALE)/pages-%.jsonl.gz:
	@mkdir -p $(@D)
	$(BIN)/python -m experiments.scale pages $(DATA)/structdoc/train_docs-0[01].jsonl.gz --pages $(PAGES) \
	  --shard $*/$(SHARDS) | $(STRUCTKIT) select -o $@

$(SCALE)/variants-%.jsonl.gz: $(SCALE)/pages-%.jsonl.gz
	$(COST) html-variants $< --on-error skip -o $@

$(SCALE)/vectors-%.npy: $(SCALE)/variants-%.jsonl.gz | $(SCALE)/static.model
	$(COST) encode -m $(SCALE)/static.model --as document --field untagged $< -o $@

$(SCALE)/codes-%.npy: $(SCALE)/variants-%.jsonl.gz $(SCALE)/vectors-%.npy
	$(COST) encode -m $(SCALE)/static.model --as document --field untagged $< --quantize binary \
	  --reuse $(SCALE)/vectors-$*.npy -o $@

$(SCALE)/minilm.npy: $(SCALE)/variants-0.jsonl.gz
	$(STRUCTKIT) select $< --head $(SAMPLE) --fields id,untagged -o $(SCALE)/sample.jsonl
	$(COST) encode -m minilm --as document --field untagged $(SCALE)/sample.jsonl -o $@

$(SCALE)/found-%.jsonl: $(SCALE)/vectors-%.npy $(SCALE)/queries.jsonl
	$(COST) search $< $(SCALE_SEARCH) -o $@

# the shards one by one, merged, are all of them at once
$(SCALE)/merged.jsonl: $(PARTS:%=$(SCALE)/found-%.jsonl)
	$(COST) fuse $^ --method merge -o $@

$(SCALE)/whole.jsonl: $(PARTS:%=$(SCALE)/vectors-%.npy) $(SCALE)/queries.jsonl
	$(COST) search $(PARTS:%=$(SCALE)/vectors-%.npy) $(SCALE_SEARCH) -o $@

$(SCALE)/rescored.jsonl: $(PARTS:%=$(SCALE)/codes-%.npy) $(SCALE)/queries.jsonl
	$(COST) search $(PARTS:%=$(SCALE)/codes-%.npy) $(PARTS:%=--rescore $(SCALE)/vectors-%.npy) $(SCALE_SEARCH) -o $@

$(SCALE)/table.md: $(SCALE)/merged.jsonl $(SCALE)/whole.jsonl $(SCALE)/rescored.jsonl $(SCALE)/minilm.npy
	cmp $(SCALE)/merged.jsonl $(SCALE)/whole.jsonl
	$(BIN)/python -m experiments.scale table $(SCALE) > $@

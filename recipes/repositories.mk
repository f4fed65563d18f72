# Questions about source repositories, answered by chunks of files: nDCG@10 beside published systems.
# MODEL is an encoder's folder or name; without it a table of token vectors is distilled of MiniLM
# (SLOW= leaves MiniLM itself out). PEERS= leaves ripgrep and semble out: the one is a package of
# the system, the other what `pip install 'structkit[bench]'` brings.
.PHONY: repositories

REPOSITORIES := runs/repositories
CODEBASES := flask click express gin chi gson guzzle rack axum zod libuv nlohmann-json dapper
MODEL :=
SLOW := minilm
PEERS := ripgrep semble
ENCODERS := static $(SLOW) $(if $(MODEL),model)
SYSTEMS := bm25 bm25+rankers $(foreach encoder,$(ENCODERS),$(encoder) hybrid-$(encoder) hybrid-$(encoder)+rankers)
IN = $(REPOSITORIES)/$*
REPORT := OMP_NUM_THREADS=1 $(BIN)/python -m tests.benchmarks.repositories

repositories: $(INSTALLED) ## Search in source code beside published systems: make repositories DATA=../shared/data/repositories MODEL=…
	@test -f '$(DATA)/files.jsonl.gz' || { echo 'name the data: make $@ DATA=FOLDER'; exit 2; }
	@$(MAKE) --no-print-directory $(REPOSITORIES)/table.md
	@cat $(REPOSITORIES)/table.md

$(REPOSITORIES)/%/files.jsonl: $(DATA)/files.jsonl.gz
	@mkdir -p $(@D)
	$(STRUCTKIT) select $< --where repository=$* -o $@

$(REPOSITORIES)/%/queries.jsonl: $(DATA)/queries.jsonl.gz
	@mkdir -p $(@D)
	$(STRUCTKIT) select $< --where repository=$* -o $@

$(REPOSITORIES)/%/chunks.jsonl: $(REPOSITORIES)/%/files.jsonl
	$(REPORT) timed $(IN)/collect.seconds $(STRUCTKIT) collect --records $< --unit chunk --generated -o $@

$(REPOSITORIES)/static.model:
	@mkdir -p $(@D)
	$(STRUCTKIT) train static --model minilm -o $@ < /dev/null

$(REPOSITORIES)/%/bm25.run.jsonl: $(REPOSITORIES)/%/chunks.jsonl $(REPOSITORIES)/%/queries.jsonl
	$(REPORT) timed $(IN)/bm25.seconds $(STRUCTKIT) search $< --method bm25 --paths -k 200 \
	  --queries $(IN)/queries.jsonl -o $@

# an encoder by its name here and by what `--model` calls it, and what its model is made of
define repositories-encoder
$(REPOSITORIES)/%/$(1).npy: $(REPOSITORIES)/%/chunks.jsonl $(3)
	$(REPORT) timed $$(IN)/$(1).index.seconds $(STRUCTKIT) encode -m $(2) --as document --field code $$< -o $$@
$(REPOSITORIES)/%/$(1).run.jsonl: $(REPOSITORIES)/%/$(1).npy $(REPOSITORIES)/%/queries.jsonl
	$(REPORT) timed $$(IN)/$(1).seconds $(STRUCTKIT) search $$< -m $(2) --queries $$(IN)/queries.jsonl \
	  --query-field query -o $$@
$(REPOSITORIES)/%/hybrid-$(1).run.jsonl: $(REPOSITORIES)/%/$(1).npy $(REPOSITORIES)/%/queries.jsonl
	$(REPORT) timed $$(IN)/hybrid-$(1).seconds $(STRUCTKIT) search $$< -m $(2) --method hybrid -k 200 \
	  --texts $$(IN)/chunks.jsonl --queries $$(IN)/queries.jsonl --query-field query -o $$@
endef
$(eval $(call repositories-encoder,static,$(REPOSITORIES)/static.model,$(REPOSITORIES)/static.model))
$(eval $(call repositories-encoder,minilm,minilm,))
$(eval $(call repositories-encoder,model,$(MODEL),))

$(REPOSITORIES)/%+rankers.run.jsonl: $(REPOSITORIES)/%.run.jsonl
	$(STRUCTKIT) rerank $< --corpus $(@D)/chunks.jsonl --queries $(@D)/queries.jsonl --for code -o $@

# the queries of all repositories, each searched in its own
define repositories-system
$(REPOSITORIES)/$(1).jsonl: $(CODEBASES:%=$(REPOSITORIES)/%/$(1).run.jsonl)
	cat $$^ > $$@
endef
$(foreach system,$(SYSTEMS),$(eval $(call repositories-system,$(system))))

$(REPOSITORIES)/chunks.jsonl: $(CODEBASES:%=$(REPOSITORIES)/%/chunks.jsonl)
	cat $^ > $@

JUDGE = $(STRUCTKIT) score --qrels $(DATA)/qrels.jsonl.gz --gains binary --measures nDCG@10 \
  --by repository --by-records $(DATA)/queries.jsonl.gz
$(REPOSITORIES)/scores.jsonl: $(REPOSITORIES)/chunks.jsonl $(SYSTEMS:%=$(REPOSITORIES)/%.jsonl)
	{ $(JUDGE) --passages $< $(SYSTEMS:%=$(REPOSITORIES)/%.jsonl); \
	  $(JUDGE) --passages $< --mean $(SYSTEMS:%=$(REPOSITORIES)/%.jsonl); } > $@

# a peer answers with its own chunks
$(PEERS:%=$(REPOSITORIES)/%.jsonl): $(REPOSITORIES)/%.jsonl: $(DATA)/files.jsonl.gz $(REPOSITORIES)/static.model
	$(REPORT) $* --data $(DATA) --model $(REPOSITORIES)/static.model -o $@

$(PEERS:%=$(REPOSITORIES)/%.scores.jsonl): $(REPOSITORIES)/%.scores.jsonl: $(REPOSITORIES)/%.jsonl
	{ $(JUDGE) --passages $(REPOSITORIES)/$*.passages.jsonl $<; \
	  $(JUDGE) --passages $(REPOSITORIES)/$*.passages.jsonl --mean $<; } > $@

$(REPOSITORIES)/table.md: $(REPOSITORIES)/scores.jsonl $(PEERS:%=$(REPOSITORIES)/%.scores.jsonl)
	$(REPORT) table --data $(DATA) --folder $(REPOSITORIES) $^ -o $@

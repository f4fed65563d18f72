# Questions about source repositories, answered by chunks of files: nDCG@10 next to published systems.
# MODEL is an encoder's folder or name, by default the one of `make -C experiments santa-model`, if it is there. Two tables
# of token vectors: builtin ships, static is distilled from MiniLM (SLOW= leaves out MiniLM itself). PEERS are
# those of ripgrep and semble that are installed: ripgrep with the system's packages, semble with `pip install semble`.
.PHONY: repositories repositories-tokens

REPOSITORIES := runs/repositories
CODEBASES := flask click express gin chi gson guzzle rack axum zod libuv nlohmann-json dapper
MODEL :=
ASK_MODEL = $(shell $(BIN)/python -c 'from structkit.paths import data_folder; print(data_folder("ask-model"))')
SLOW := minilm
PEERS := $(if $(shell command -v rg),ripgrep) $(shell $(BIN)/python -c 'from importlib.util import find_spec; \
  print("semble" * bool(find_spec("semble")))' 2> /dev/null)
PEERS_LACKED = $(filter-out $(PEERS),ripgrep semble)
GET_ripgrep := ripgrep (apt-get install ripgrep or brew install ripgrep)
GET_semble := semble ($(BIN)/pip install semble)
# the peers that are missing, and how to get them
tell-lacked = @$(if $(PEERS_LACKED),echo 'left out because they are not installed: $(foreach each,$(PEERS_LACKED),$(GET_$(each)))' >&2,true)
# without the words that share a stem, without the rankers of code
PARTS_OUT := ask-without-related ask-without-rankers ask-words-without-related ask-words-without-rankers ask-words-alone
ASKED = ask ask-words $(SLOW:%=ask-%) $(PARTS_OUT) $(PEERS)
CHOICES := codebases model systems
ENCODERS := builtin static $(SLOW) $(if $(MODEL),model)
SEARCHES := bm25 $(ENCODERS:%=hybrid-%)
# +rankers: the weights of `--for code`; +held-out: weights fitted to the other repositories
SYSTEMS := $(ENCODERS) $(foreach search,$(SEARCHES),$(search) $(search)+rankers $(search)+held-out)
IN = $(REPOSITORIES)/$*
REPORT := OMP_NUM_THREADS=1 $(BIN)/python -m experiments.repositories

repositories: $(INSTALLED) ## Search in source code next to published systems: make repositories MODEL=…
	$(call needs,repositories/files.jsonl.gz)
	$(tell-lacked)
	@$(MAKE) --no-print-directory $(REPOSITORIES)/table.md MODEL='$(or $(MODEL),$(wildcard $(ASK_MODEL)))'
	@cat $(REPOSITORIES)/table.md

# What an agent reads until a passage answers: make repositories-tokens
repositories-tokens: $(INSTALLED)
	$(call needs,repositories/files.jsonl.gz)
	@$(MAKE) --no-print-directory $(REPOSITORIES)/tokens.md
	@cat $(REPOSITORIES)/tokens.md

$(REPOSITORIES)/tokens.md: $(DATA)/repositories/files.jsonl.gz $(REPOSITORIES)/static.model
	$(REPORT) tokens --data $(DATA)/repositories --queries $(DATA)/repositories/queries.jsonl.gz --model $(REPOSITORIES)/static.model -o $@

$(REPOSITORIES)/%/files.jsonl: $(DATA)/repositories/files.jsonl.gz
	@mkdir -p $(@D)
	$(STRUCTKIT) select $< --where repository=$* -o $@

$(REPOSITORIES)/%/queries.jsonl: $(DATA)/repositories/queries.jsonl.gz
	@mkdir -p $(@D)
	$(STRUCTKIT) select $< --where repository=$* -o $@

$(REPOSITORIES)/%/chunks.jsonl: $(REPOSITORIES)/%/files.jsonl
	OMP_NUM_THREADS=1 $(TIMED) $(IN)/collect.seconds $(STRUCTKIT) collect --records $< --unit chunk --generated -o $@

$(REPOSITORIES)/static.model:
	@mkdir -p $(@D)
	$(STRUCTKIT) train static --model minilm -o $@ < /dev/null

$(REPOSITORIES)/%/bm25.run.jsonl: $(REPOSITORIES)/%/chunks.jsonl $(REPOSITORIES)/%/queries.jsonl
	OMP_NUM_THREADS=1 $(TIMED) $(IN)/bm25.seconds $(STRUCTKIT) search $< --method bm25 -k 200 \
	  --queries $(IN)/queries.jsonl -o $@

# an encoder: its name here, its name for `--model`, and the files its model is made of
define repositories-encoder
$(REPOSITORIES)/%/$(1).npy: $(REPOSITORIES)/%/chunks.jsonl $(3)
	OMP_NUM_THREADS=1 $$(TIMED) $$(IN)/$(1).index.seconds $(STRUCTKIT) encode -m $(2) --as document --field code $$< -o $$@
$(REPOSITORIES)/%/$(1).run.jsonl: $(REPOSITORIES)/%/$(1).npy $(REPOSITORIES)/%/queries.jsonl
	OMP_NUM_THREADS=1 $$(TIMED) $$(IN)/$(1).seconds $(STRUCTKIT) search $$< -m $(2) --queries $$(IN)/queries.jsonl \
	  --query-field query -o $$@
$(REPOSITORIES)/%/hybrid-$(1).run.jsonl: $(REPOSITORIES)/%/$(1).npy $(REPOSITORIES)/%/queries.jsonl
	OMP_NUM_THREADS=1 $$(TIMED) $$(IN)/hybrid-$(1).seconds $(STRUCTKIT) search $$< -m $(2) --method hybrid -k 200 \
	  --texts $$(IN)/chunks.jsonl --queries $$(IN)/queries.jsonl --query-field query -o $$@
endef
$(eval $(call repositories-encoder,builtin,builtin,))
$(eval $(call repositories-encoder,static,$(REPOSITORIES)/static.model,$(REPOSITORIES)/static.model))
$(eval $(call repositories-encoder,minilm,minilm,))
$(eval $(call repositories-encoder,model,$(MODEL),$(REPOSITORIES)/model))

$(REPOSITORIES)/%+rankers.run.jsonl: $(REPOSITORIES)/%.run.jsonl
	$(STRUCTKIT) rerank $< --corpus $(@D)/chunks.jsonl --queries $(@D)/queries.jsonl --for code -o $@

# what depends on a choice is made again if it changes
CHOICE_codebases = $(CODEBASES)
CHOICE_model = $(MODEL)
CHOICE_systems = $(SYSTEMS)
$(CHOICES:%=$(REPOSITORIES)/%): $(REPOSITORIES)/%: FORCE
	@mkdir -p $(@D); echo '$(CHOICE_$*)' | cmp -s - $@ || echo '$(CHOICE_$*)' > $@

# the queries and judgements of the repositories that are asked
$(REPOSITORIES)/queries.jsonl: $(CODEBASES:%=$(REPOSITORIES)/%/queries.jsonl) $(REPOSITORIES)/codebases
	cat $(filter %.jsonl,$^) > $@

$(REPOSITORIES)/qrels.jsonl: $(DATA)/repositories/qrels.jsonl.gz $(REPOSITORIES)/queries.jsonl
	$(STRUCTKIT) select $< --in $(REPOSITORIES)/queries.jsonl --on query_id=id -o $@

# each repository reranked by weights fitted to the others
$(REPOSITORIES)/%+held-out.jsonl: $(REPOSITORIES)/%.jsonl $(REPOSITORIES)/chunks.jsonl $(REPOSITORIES)/qrels.jsonl
	$(BIN)/python -m experiments.fitting $< --corpus $(@D)/chunks.jsonl --queries $(@D)/queries.jsonl --for code \
	  --qrels $(@D)/qrels.jsonl --folds repository --held-out $@ -o $(REPOSITORIES)/$*.weights.json

# the queries of all repositories, each searched in its own repository
define repositories-system
$(REPOSITORIES)/$(1).jsonl: $(CODEBASES:%=$(REPOSITORIES)/%/$(1).run.jsonl) $(REPOSITORIES)/codebases
	cat $$(filter %.jsonl,$$^) > $$@
endef
$(foreach system,$(filter-out %+held-out,$(SYSTEMS)),$(eval $(call repositories-system,$(system))))

$(REPOSITORIES)/chunks.jsonl: $(CODEBASES:%=$(REPOSITORIES)/%/chunks.jsonl) $(REPOSITORIES)/codebases
	cat $(filter %.jsonl,$^) > $@

JUDGE = $(STRUCTKIT) score --qrels $(REPOSITORIES)/qrels.jsonl --gains binary --measures nDCG@10 \
  --by repository --queries $(REPOSITORIES)/queries.jsonl
$(REPOSITORIES)/scores.jsonl: $(REPOSITORIES)/systems $(REPOSITORIES)/model $(REPOSITORIES)/chunks.jsonl $(REPOSITORIES)/qrels.jsonl $(SYSTEMS:%=$(REPOSITORIES)/%.jsonl)
	{ $(JUDGE) --passages $(@D)/chunks.jsonl $(SYSTEMS:%=$(REPOSITORIES)/%.jsonl); \
	  $(JUDGE) --passages $(@D)/chunks.jsonl --mean $(SYSTEMS:%=$(REPOSITORIES)/%.jsonl); } > $@

# a peer, or ask itself, answers with its own chunks
$(ASKED:%=$(REPOSITORIES)/%.jsonl): $(REPOSITORIES)/%.jsonl: $(DATA)/repositories/files.jsonl.gz $(REPOSITORIES)/queries.jsonl $(REPOSITORIES)/static.model
	$(REPORT) $* --data $(DATA)/repositories --queries $(REPOSITORIES)/queries.jsonl --model $(REPOSITORIES)/static.model -o $@

$(ASKED:%=$(REPOSITORIES)/%.scores.jsonl): $(REPOSITORIES)/%.scores.jsonl: $(REPOSITORIES)/%.jsonl $(REPOSITORIES)/qrels.jsonl
	{ $(JUDGE) --passages $(REPOSITORIES)/$*.passages.jsonl $<; \
	  $(JUDGE) --passages $(REPOSITORIES)/$*.passages.jsonl --mean $<; } > $@

$(REPOSITORIES)/table.md: $(REPOSITORIES)/scores.jsonl $(ASKED:%=$(REPOSITORIES)/%.scores.jsonl)
	$(REPORT) table --data $(DATA)/repositories --folder $(REPOSITORIES) $^ -o $@

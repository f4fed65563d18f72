# The two commands to know: `make demo` and `make test`. Recipes write into runs/, and go on where
# they were interrupted.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: help install demo test lint soak bench santa-code santa-product santa-table strae strae-train strae-eval span-parser seal hard-negatives clean

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
STRUCTKIT := $(BIN)/structkit

help: ## What there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

install: $(INSTALLED) ## structkit and its tools into .venv

test: $(INSTALLED) ## All tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

lint: $(INSTALLED) ## ruff and strict mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy structkit plugins

soak: $(INSTALLED) ## Bad input for every command, 5,000 cases: make soak COUNT=… SEED=… JOBS=…
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.soak --count $(COUNT) --seed $(SEED) --jobs $(JOBS)
soak: COUNT := 5000
soak: SEED := 0
soak: JOBS := 2

bench: $(INSTALLED) ## Speed beside the peer's: make bench DATA=../shared/data DGL=FOLDER, or without
	$(BIN)/python -m tests.benchmarks $(if $(DATA),--data '$(DATA)') $(if $(DGL),--dgl '$(DGL)')

# --- All three families on the fixtures ----------------------------------------------------------

demo: $(INSTALLED) ## All three families end to end on the fixtures, with tables of measures
	@$(MAKE) --no-print-directory -j 2 santa-table RUN=$(DEMO)/santa TRAIN=fixtures/code/train.jsonl \
	  TEST=fixtures/code/test.jsonl FLAGS='$(DEMO_FLAGS)'
	@$(MAKE) --no-print-directory -j 2 $(DEMO)/seal/table.md $(DEMO)/strae/table.md
	@tail -n +1 $(DEMO)/santa/table.md $(DEMO)/seal/table.md $(DEMO)/strae/table.md

DEMO := runs/demo
# the fixtures are few and short: tiny models, many passes
DEMO_FLAGS := --size tiny --vocabulary-size 1000 --document-length 128 --target-length 64 \
  --pooling mean --normalize --temperature 0.05 --symmetric --align-on original \
  --batch-size 32 --learning-rate 3e-3 --epochs 15
PAGES_FLAGS := --size tiny --architecture bert --vocabulary-size 1000 --document-length 128 \
  --pooling mean --temperature 0.05 --batch-size 32 --learning-rate 3e-3
SENTENCES_FLAGS := --batch-size 64 --epochs 10 --learning-rate 2e-3 --composition-init sum

$(DEMO)/seal/train.jsonl $(DEMO)/seal/test.jsonl: $(DEMO)/seal/%.jsonl: fixtures/pages/%.jsonl
	@mkdir -p $(DEMO)/seal
	$(STRUCTKIT) html-variants $< -o $@

# as many passes over each version of a page
$(DEMO)/seal/raw.model: METHOD = contrastive --document-field untagged --epochs 20
$(DEMO)/seal/seal.model: METHOD = seal --epochs 10
$(DEMO)/seal/%.model: $(DEMO)/seal/train.jsonl
	OMP_NUM_THREADS=1 $(STRUCTKIT) train $(METHOD) $< -o $@ $(PAGES_FLAGS)

$(DEMO)/seal/raw.jsonl: FIELD = untagged
$(DEMO)/seal/seal.jsonl: FIELD = tagged
$(DEMO)/seal/raw.jsonl $(DEMO)/seal/seal.jsonl: $(DEMO)/seal/%.jsonl: $(DEMO)/seal/%.model $(DEMO)/seal/test.jsonl
	$(STRUCTKIT) encode --as document --field $(FIELD) -m $^ -o $(DEMO)/seal/$*.npy
	$(STRUCTKIT) search $(DEMO)/seal/$*.npy -m $< --queries $(DEMO)/seal/test.jsonl -o $@

$(DEMO)/seal/bm25.jsonl: $(DEMO)/seal/test.jsonl
	$(STRUCTKIT) search $< --method bm25 --document-field untagged --queries $< -o $@

$(DEMO)/seal/table.md: $(DEMO)/seal/raw.jsonl $(DEMO)/seal/seal.jsonl $(DEMO)/seal/bm25.jsonl
	$(STRUCTKIT) score --qrels self --measures 'nDCG@10 RR@10 Success@1' --markdown $^ -o $@

$(DEMO)/strae/train.jsonl: fixtures/sentences/train.jsonl
	@mkdir -p $(DEMO)/strae
	$(STRUCTKIT) parse-trees $< -o $@

$(DEMO)/strae/pairs.jsonl: fixtures/sentences/pairs.jsonl
	@mkdir -p $(DEMO)/strae
	$(STRUCTKIT) parse-trees --field text_a --field text_b $< -o $@

$(DEMO)/strae/untrained.model: METHOD = strae --max-steps 0
$(DEMO)/strae/strae.model: METHOD = strae
$(DEMO)/strae/self-strae.model: METHOD = self-strae
$(DEMO)/strae/%.model: $(DEMO)/strae/train.jsonl
	OMP_NUM_THREADS=1 $(STRUCTKIT) train $(METHOD) $< -o $@ $(SENTENCES_FLAGS)

$(DEMO)/strae/self-strae.jsonl: SIDES = --field text_a --field text_b
$(DEMO)/strae/%.jsonl: SIDES = --field text_a_tree --field text_b_tree
$(DEMO)/strae/untrained.jsonl $(DEMO)/strae/strae.jsonl $(DEMO)/strae/self-strae.jsonl: $(DEMO)/strae/%.jsonl: $(DEMO)/strae/%.model $(DEMO)/strae/pairs.jsonl
	$(STRUCTKIT) encode -m $^ $(SIDES) --keep score -o $@

$(DEMO)/strae/table.md: $(DEMO)/strae/untrained.jsonl $(DEMO)/strae/strae.jsonl $(DEMO)/strae/self-strae.jsonl
	$(STRUCTKIT) score --task similarity --markdown $^ -o $@

# --- SANTA ---------------------------------------------------------------------------------------
# Four models of one recipe: untrained, entity prediction alone (mep), alignment alone (sda), both
# (santa). TRAIN and TEST are documents for `pair`, RUN is the folder of the recipe, FLAGS are the
# settings of its trainings.

santa-code: $(INSTALLED) ## SANTA on real functions: make santa-code DATA=../shared/data/codesearch
	@test -f '$(DATA)/train.jsonl.gz' || { echo 'name the data: make $@ DATA=FOLDER'; exit 2; }
	@$(MAKE) --no-print-directory -j 2 santa-table RUN='$(RUN)' MASK='--mask-ratio 0.3' \
	  TRAIN='$(RUN)/python-train.jsonl' TEST='$(RUN)/python-dev.jsonl' FLAGS='$(CODE_FLAGS)'

santa-product: $(INSTALLED) ## SANTA on products: make santa-product DATA=../shared/data/products
	@test -f '$(DATA)/matching/products.jsonl.gz' || { echo 'name the data: make $@ DATA=FOLDER'; exit 2; }
	@$(MAKE) --no-print-directory -j 2 santa-table RUN='$(RUN)' MASK='$(PRODUCT_MASK)' \
	  TRAIN='$(RUN)/product-train.jsonl' TEST='$(RUN)/product-test.jsonl' FLAGS='$(PRODUCT_FLAGS)' \
	  QUERIES='$(DATA)/matching/dev_queries.jsonl.gz' GAINS='esci-documented esci-official' \
	  SCORE="--qrels '$(DATA)/matching/dev_qrels.jsonl.gz' --gains exact $(PRODUCT_MEASURES)"

# another folder: make santa-code RUN=FOLDER
santa-code santa-product: RUN = runs/$@

# without instructions for it, bf16 is slower than fp32
BF16 := $(if $(shell grep -om1 avx512_bf16 /proc/cpuinfo),--bf16)
# the paper's settings are the defaults; these are for a model from scratch
SCRATCH := --size wide --document-length 200 --pooling mean --normalize --temperature 0.05 --symmetric \
  --batch-size 64 --learning-rate 1e-3 $(BF16)
CODE_FLAGS := $(SCRATCH) --epochs 1
# all models learn from the same pairs: those with an entity to mask
PRODUCT_FLAGS := $(SCRATCH) --epochs 5
PRODUCT_MASK := --language product --mask-ratio 0.3 --on-error skip --stats
PRODUCT_MEASURES := --measures 'nDCG@10 RR@10 R@100'

MODELS := untrained mep sda santa
ONLY_untrained := --max-steps 0
ONLY_mep := --alignment-weight 0
ONLY_sda := --entity-weight 0 --align-on original

# what is searched for, and how runs are judged: by default each document's own query
QUERIES = $(RUN)/corpus.jsonl
SCORE = --qrels self --queries $(RUN)/corpus.jsonl --measures 'RR@100 Success@1 R@10'
GAINS :=

santa-table: $(RUN)/table.md $(GAINS:%=$(RUN)/table-%.md)
	@tail -n +1 $^

$(RUN)/python-%.jsonl: $(DATA)/%.jsonl.gz
	@mkdir -p $(RUN)
	gunzip -c $< | grep -F '"language": "python"' > $@

# the shops' descriptions end in a trace of the set they were made for
BARE := sed 's/ *COL price VAL"/"/'

# gift cards: one bullet and the description; where there is no bullet, and in the shops: the title.
# Nothing of the corpus, and of its other side only products that no test query is made of.
$(RUN)/product-train.jsonl: $(DATA)/amazon_gift_cards/products.jsonl.gz \
    $(DATA)/matching/query_side_products_train.jsonl.gz
	@mkdir -p $(RUN)
	{ $(STRUCTKIT) pair $< --on-error skip; \
	  gunzip -c $^ | $(BARE) | $(STRUCTKIT) pair --query title --on-error skip; } > $@

$(RUN)/product-test.jsonl: $(DATA)/matching/products.jsonl.gz
	@mkdir -p $(RUN)
	gunzip -c $< | $(BARE) | $(STRUCTKIT) pair --query title \
	  --positive-template 'title : {title} text : {description}' -o $@

$(RUN)/pairs.jsonl: $(TRAIN)
	@mkdir -p $(RUN)
	$(STRUCTKIT) pair $< --dedupe -o $@

$(RUN)/masked.jsonl: $(RUN)/pairs.jsonl
	$(STRUCTKIT) mask-entities $< $(MASK) -o $@

$(RUN)/corpus.jsonl: $(TEST)
	@mkdir -p $(RUN)
	$(STRUCTKIT) pair $< -o $@

# two trainings at a time, one core each: small models gain little from a second core
$(MODELS:%=$(RUN)/%.model): $(RUN)/%.model: $(RUN)/masked.jsonl
	OMP_NUM_THREADS=1 $(STRUCTKIT) train santa $< -o $@ $(FLAGS) $(ONLY_$*) \
	  $(if $(wildcard $@.partial),--resume) --save-every 100

$(MODELS:%=$(RUN)/%.jsonl): $(RUN)/%.jsonl: $(RUN)/%.model $(RUN)/corpus.jsonl
	$(STRUCTKIT) encode --as document -m $< $(RUN)/corpus.jsonl -o $(RUN)/$*.npy
	$(STRUCTKIT) encode --as query -m $< $(QUERIES) \
	  | $(STRUCTKIT) search $(RUN)/$*.npy -o $@

$(RUN)/bm25.jsonl: $(RUN)/corpus.jsonl
	$(STRUCTKIT) search $< --method bm25 --queries $(QUERIES) -o $@

$(RUN)/santa+bm25.jsonl: $(RUN)/santa.jsonl $(RUN)/bm25.jsonl
	$(STRUCTKIT) fuse $^ --method weighted --weight 0.3 --weight 1 -o $@

RUNS := $(MODELS:%=$(RUN)/%.jsonl) $(RUN)/bm25.jsonl $(RUN)/santa+bm25.jsonl
# the two that matter most come first
$(RUN)/table.md: $(RUN)/santa.jsonl $(RUN)/sda.jsonl $(RUNS) $(RUN)/corpus.jsonl
	$(STRUCTKIT) score $(SCORE) --markdown $(RUNS) -o $@

$(GAINS:%=$(RUN)/table-%.md): $(RUN)/table-%.md: $(RUN)/table.md
	$(STRUCTKIT) score $(SCORE) --gains $* --markdown $(RUNS) -o $@

# --- The built-in parser -------------------------------------------------------------------------
# From freely licensed trees alone: GUM's genres whose texts are CC BY or CC BY-SA, twice, as they
# are gold; and parsed sentences of Wikipedia, but for those of WikiNEuRal. FLAGS are settings of
# the training; to ship its weights, copy the three files of the model to plugins/parsers/weights.

span-parser: $(INSTALLED) ## The weights of the built-in parser, and its F1: make span-parser DATA=../shared/data
	@test -f '$(DATA)/trees/gum_train.jsonl.gz' || { echo 'name the data: make $@ DATA=FOLDER'; exit 2; }
	@$(MAKE) --no-print-directory $(PARSER)/table.md
	@cat $(PARSER)/table.md

PARSER := runs/span-parser
FREE_GENRES := academic|bio|court|interview|news|voyage

# records of the parsed sentences have no licence: it goes by the source that their texts have
$(PARSER)/free-ids.txt: $(wildcard $(DATA)/wikitext/wiki_sentences_*.jsonl.gz)
	@mkdir -p $(PARSER)
	gunzip -c $^ | grep -vF '"source": "wikineural"' | grep -oE '"id": "w[dt]-[0-9]+"' > $@
	echo '"id": "wikitext2-valid-' >> $@

$(PARSER)/trees.jsonl: $(DATA)/trees/gum_train.jsonl.gz $(DATA)/wikitext2_parsed.jsonl.gz \
    $(PARSER)/free-ids.txt
	{ gunzip -c $< $< | grep -E '"genre": "($(FREE_GENRES))"'; \
	  gunzip -c $(word 2,$^) | grep -Ff $(word 3,$^); } > $@

$(PARSER)/model: $(PARSER)/trees.jsonl
	OMP_NUM_THREADS=1 $(STRUCTKIT) train span-parser $< -o $@ $(FLAGS) \
	  $(if $(wildcard $@.partial),--resume) --save-every 300

$(PARSER)/table.md: $(PARSER)/model $(DATA)/trees/gum_dev.jsonl.gz
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.benchmarks.parsers $(word 2,$^) --first 1000 \
	  --model $< > $@

# --- StrAE ---------------------------------------------------------------------------------------
# All models learn from the same sentences, and are scored on the nine tasks of the paper's table 2.
# On a GPU, all there is: make strae SENTENCES=216247 STEPS=20000 BATCH=128 SEEDS='0 1 2 3 4'

strae: $(INSTALLED) ## StrAE and its baselines, nine tasks: make strae DATA=../shared/data
	@test -d '$(DATA)/strae_eval' || { echo 'name the data: make $@ DATA=FOLDER'; exit 2; }
	@$(MAKE) --no-print-directory -j 2 strae-train
	@$(MAKE) --no-print-directory strae-eval

strae-train: $(INSTALLED)
strae-eval: $(INSTALLED) ## The nine tasks for the models that `make strae` trained
	@$(MAKE) --no-print-directory -j 2 $(STRAE)/table.md
	@cat $(STRAE)/table.md

STRAE := runs/strae
# sentences to learn from, steps of each training (but fastText's: passes), its batch, its seeds
SENTENCES := 60000
STEPS := 1000
PASSES := 5
BATCH := 64
SEEDS := 0 1
# any parser; with stanford: what its PCFG parser made of fewer sentences, and of most of the tasks'
CONSTITUENCY := builtin

# the paper's settings are the defaults; its learning rates are for 58,000 steps. From a random
# start so few of them often end where a root knows its last words only
FAST := --batch-size $(BATCH) --epochs 10000 --max-steps $(STEPS) --learning-rate 2e-3
SUM := $(FAST) --composition-init sum

WIKITEXT := $(DATA)/wikitext/wiki_sentences_train.jsonl.gz $(DATA)/wikitext/extra_sentences_train.jsonl.gz
$(STRAE)/train-text.jsonl: $(if $(filter stanford,$(CONSTITUENCY)),$(DATA)/wikitext2_parsed.jsonl.gz,$(WIKITEXT))
	@mkdir -p $(STRAE)
	gunzip -c $^ | sed -n '1,$(SENTENCES)p' > $@

# Spearman's tasks, then those of a classifier with what it learns from
TASKS := simlex999=SimLex wordsim353_similarity=WordSim_S wordsim353_relatedness=WordSim_R \
  sts12_test=STS_12 sts16_test=STS_16 stsb_test=STS_B sick_r_test=SICK_R \
  mrpc_test=MRPC mrpc_train=MRPC rte_dev=RTE rte_train=RTE

$(STRAE)/eval-text.jsonl:
	@mkdir -p $(STRAE)
	for each in $(TASKS); do \
	  task=$${each#*=} file=$${each%=*} split=test; \
	  if [[ $$file = *train ]]; then split=train; fi; \
	  gunzip -c $(DATA)/strae_eval/$$file.jsonl.gz \
	    | sed "s/^{/{\"task\": \"$${task/_/ }\", \"split\": \"$$split\", /; s/\"label\": /\"score\": /"; \
	done > $@

PARSE = $(STRUCTKIT) parse-trees -q --parser
PAIR := --field text_a --field text_b

$(STRAE)/train-right-branching.jsonl $(STRAE)/train-balanced.jsonl: $(STRAE)/train-%.jsonl: $(STRAE)/train-text.jsonl
	$(PARSE) $* --field text $< -o $@

$(STRAE)/eval-right-branching.jsonl $(STRAE)/eval-balanced.jsonl: $(STRAE)/eval-%.jsonl: $(STRAE)/eval-text.jsonl
	$(PARSE) $* $(PAIR) $< -o $@

ifeq ($(CONSTITUENCY),stanford)
$(STRAE)/train-constituency.jsonl: $(STRAE)/train-text.jsonl
	$(PARSE) brackets --on-error skip $< -o $@

# the trees of a pair are found by its id; the built-in parser makes those that are missing
$(STRAE)/eval-constituency.jsonl: $(STRAE)/eval-text.jsonl $(DATA)/strae_eval_parsed.jsonl.gz
	awk -v missing=$@.missing ' \
	  match($$0, /"id": "[^"]*"/) { id = substr($$0, RSTART + 7, RLENGTH - 8) } \
	  NR == FNR { tree[id] = substr($$0, index($$0, "\"tree\": ") + 8); sub(/}$$/, "", tree[id]); next } \
	  (id "-a" in tree) && (id "-b" in tree) { \
	    sub(/}$$/, ", \"text_a_tree\": "); $$0 = $$0 tree[id "-a"]; \
	    print $$0 ", \"text_b_tree\": " tree[id "-b"] "}"; next } \
	  { print > missing }' <(gunzip -c $(DATA)/strae_eval_parsed.jsonl.gz) $< \
	  | $(PARSE) brackets --field text_a_tree --field text_b_tree --on-error skip -o $@.found
	$(PARSE) builtin $(PAIR) $@.missing | cat $@.found - > $@
	rm $@.found $@.missing
else
$(STRAE)/train-constituency.jsonl: $(STRAE)/train-text.jsonl
	$(PARSE) $(CONSTITUENCY) $< -o $@

$(STRAE)/eval-constituency.jsonl: $(STRAE)/eval-text.jsonl
	$(PARSE) $(CONSTITUENCY) $(PAIR) $< -o $@
endif

# a model of a name, method, kind of records, flags and seed: its training, then its embeddings
define strae-seed
strae-train: $(STRAE)/$(1)@$(5).model
$(STRAE)/table.md: $(STRAE)/$(1)@$(5).jsonl
$(STRAE)/$(1)@$(5).model: $(STRAE)/train-$(3).jsonl
	OMP_NUM_THREADS=1 $$(STRUCTKIT) train $(2) $$< -o $$@ -q --seed $(5) $(4) \
	  $$(if $$(wildcard $$@.partial/step-*),--resume) --save-every 500
$(STRAE)/$(1)@$(5).jsonl: $(STRAE)/$(1)@$(5).model $(STRAE)/eval-$(3).jsonl
	OMP_NUM_THREADS=1 $$(STRUCTKIT) encode -q -m $$^ -o $$@ --keep task --keep split --keep score \
	  --field text_a$(if $(filter text,$(3)),,_tree) --field text_b$(if $(filter text,$(3)),,_tree)
endef
strae-model = $(foreach seed,$(SEEDS),$(eval $(call strae-seed,$(1),$(2),$(3),$(4),$(seed))))

$(call strae-model,strae-untrained,strae,constituency,$(SUM) --max-steps 0)
$(call strae-model,strae-c,strae,constituency,$(SUM))
$(call strae-model,strae-ce,strae,constituency,$(SUM) --objective ce)
$(call strae-model,strae-c-right-branching,strae,right-branching,$(SUM))
$(call strae-model,strae-ce-right-branching,strae,right-branching,$(SUM) --objective ce)
$(call strae-model,strae-c-balanced,strae,balanced,$(SUM))
$(call strae-model,strae-ce-balanced,strae,balanced,$(SUM) --objective ce)
$(call strae-model,self-strae,self-strae,text,$(SUM))
$(call strae-model,self-strae-bpe,self-strae,text,$(SUM) --subwords)
$(call strae-model,tree-lstm-ce,tree-lstm,constituency,$(FAST) --objective ce)
# at the paper's 1e-3 little moves in so few sentences: here is the library's own rate too
$(call strae-model,fasttext,fasttext,text,--epochs $(PASSES) --learning-rate 0.05 --buckets 200000)
$(call strae-model,fasttext-paper,fasttext,text,--buckets 200000)

$(STRAE)/table.md:
	$(STRUCTKIT) score --task suite --markdown $^ -o $@

# --- SEAL ----------------------------------------------------------------------------------------
# MiniLM fine-tuned on PAIRS training queries (first sentences and questions), one model for each
# system and seed, and searched with the dev queries of the same kinds. LENGTH and CHUNK are tokens;
# STEPS ends every training early. Tags are one token each (TAGS= leaves them in pieces). Chunk is the
# model on raw text, with its documents in chunks.
SEAL := runs/seal
SEAL_SEEDS := 0 1 2
PAIRS := 256
LENGTH := 256
CHUNK := $(shell expr $(LENGTH) - 2)
STEPS :=
TAGS := --tag-tokens
SEAL_MODEL := --model minilm --pooling mean
SEAL_FLAGS = $(SEAL_MODEL) --document-length $(LENGTH) --query-length 32 --temperature 0.02 \
  --batch-size 16 --epochs 1 --learning-rate 2e-5 $(BF16) $(if $(STEPS),--max-steps $(STEPS))
SEAL_SYSTEMS := raw chunk mcls santa element structure joint structure-element element-structure
SEAL_MEASURES := nDCG@10 RR@10 HitRate@1 HitRate@3 HitRate@5 MRR@5
COMPARE = --compare $(SEAL)/raw@0.jsonl
KINDS := grep -E '"kind": "(lead|question)"'

seal: $(INSTALLED) ## SEAL and its baselines on HTML: make seal DATA=../shared/data/structdoc
	@test -f '$(DATA)/dev_docs.jsonl.gz' || { echo 'name the data: make $@ DATA=FOLDER'; exit 2; }
	@$(MAKE) --no-print-directory -j 2 $(SEAL)/table.md
	@cat $(SEAL)/table.md

# documents are without the titles that other queries ask for: SANTA gets them as a field
$(SEAL)/titled.jsonl: $(DATA)/train_queries.jsonl.gz
	@mkdir -p $(SEAL)
	gunzip -c $< $< | awk -F'"doc_id": "' '{split($$2, id, "\"")} \
	  /"kind": "title"/ {title = $$1; sub(/^.*"query": /, "", title); sub(/, $$/, "", title); titles[id[1]] = title} \
	  /"kind": "(lead|question)"/ {if (both[$$0]++) {if (id[1] in titles) sub(/}$$/, ", \"title\": " titles[id[1]] "}"); print}}' > $@

$(SEAL)/train-queries.jsonl: $(SEAL)/titled.jsonl
	awk -v wanted=$(PAIRS) '{line[NR] = $$0} END { \
	  for (i = 0; i < wanted && i < NR; i++) print line[int(i * NR / (wanted < NR ? wanted : NR)) + 1]}' $< > $@

$(SEAL)/dev-queries.jsonl: $(DATA)/dev_queries.jsonl.gz
	@mkdir -p $(SEAL)
	gunzip -c $< | $(KINDS) > $@

# a query names its document
$(SEAL)/%-qrels.jsonl: $(SEAL)/%-queries.jsonl
	sed -E 's/.*"id": ("[^"]*").*"doc_id": ("[^"]*").*/{"query_id": \1, "doc_id": \2, "relevance": 1}/' $< > $@

$(SEAL)/docs.jsonl: $(SEAL)/train-qrels.jsonl
	gunzip -c $(DATA)/train_docs-0[01].jsonl.gz \
	  | awk -F'"' 'NR == FNR {wanted[$$8]; next} $$4 in wanted' $< - > $@

$(SEAL)/pairs.jsonl: $(SEAL)/train-qrels.jsonl $(SEAL)/docs.jsonl
	$(STRUCTKIT) pair --qrels $< --queries $(SEAL)/train-queries.jsonl --corpus $(SEAL)/docs.jsonl \
	  --per-query 0 -o $@

$(SEAL)/variants.jsonl: $(SEAL)/pairs.jsonl
	$(STRUCTKIT) html-variants $< --on-error skip -o $@

$(SEAL)/dev.jsonl: $(DATA)/dev_docs.jsonl.gz
	@mkdir -p $(SEAL)
	$(STRUCTKIT) html-variants $< -o $@

# terms of query, title and body are what SANTA masks
$(SEAL)/masked.jsonl: $(SEAL)/variants.jsonl
	$(STRUCTKIT) pair $< --query query --positive tagged \
	  | $(STRUCTKIT) mask-entities --language html --field positive --on-error skip -o $@

comma := ,
# a system, its method, its records, its flags, and the field of documents that are searched
define seal-system
$(SEAL)/$(1)@%.model: $(SEAL)/$(3).jsonl
	OMP_NUM_THREADS=1 $$(STRUCTKIT) train $(2) $$< -o $$@ $$(SEAL_FLAGS) --seed $$* $(4) \
	  $$(if $$(wildcard $$@.partial/step-*),--resume) --save-every 50
$(SEAL)/$(1)@%.jsonl: $(SEAL)/$(1)@%.model $(SEAL)/dev.jsonl $(SEAL)/dev-queries.jsonl
	OMP_NUM_THREADS=1 $$(STRUCTKIT) encode --as document -m $$< --field $(5) $(SEAL)/dev.jsonl \
	  $(if $(BF16),--dtype bf16) -o $(SEAL)/$(1)@$$*.npy
	OMP_NUM_THREADS=1 $$(STRUCTKIT) search $(SEAL)/$(1)@$$*.npy -m $$< --queries $(SEAL)/dev-queries.jsonl -o $$@
endef
$(eval $(call seal-system,raw,contrastive,variants,--document-field untagged,untagged))
$(eval $(call seal-system,mcls,contrastive,variants,--document-field untagged --pooling mcls --mcls-every 64,untagged))
$(eval $(call seal-system,santa,santa,masked,--normalize $(TAGS),tagged))
$(eval $(call seal-system,element,seal,variants,--stages element $(TAGS),tagged))
$(eval $(call seal-system,structure,seal,variants,--stages structure $(TAGS),tagged))
$(eval $(call seal-system,joint,seal,variants,--stages joint $(TAGS),tagged))
$(eval $(call seal-system,structure-element,seal,variants,--stages structure$$(comma)element $(TAGS),tagged))
$(eval $(call seal-system,element-structure,seal,variants,--stages element$$(comma)structure $(TAGS),tagged))

$(SEAL)/chunk@%.jsonl: $(SEAL)/raw@%.model $(SEAL)/dev.jsonl $(SEAL)/dev-queries.jsonl
	OMP_NUM_THREADS=1 $(STRUCTKIT) encode --as document -m $< --field untagged --chunk $(CHUNK) \
	  $(SEAL)/dev.jsonl $(if $(BF16),--dtype bf16) -o $(SEAL)/chunk@$*.npy
	OMP_NUM_THREADS=1 $(STRUCTKIT) search $(SEAL)/chunk@$*.npy -m $< --queries $(SEAL)/dev-queries.jsonl -o $@

$(SEAL)/bm25.jsonl: $(SEAL)/dev.jsonl $(SEAL)/dev-queries.jsonl
	$(STRUCTKIT) search $< --method bm25 --document-field untagged \
	  --queries $(SEAL)/dev-queries.jsonl -o $@

SEAL_RUNS = $(foreach seed,$(SEAL_SEEDS),$(SEAL_SYSTEMS:%=$(SEAL)/%@$(seed).jsonl)) $(SEAL)/bm25.jsonl
$(SEAL)/table.md: $(SEAL)/dev-qrels.jsonl $(SEAL_RUNS)
	$(STRUCTKIT) score --qrels $< --measures '$(SEAL_MEASURES)' --markdown $(COMPARE) $(SEAL_RUNS) -o $@

# search with a model, take what it takes for answers as negatives, train again from there
HARD := element-structure@0
hard-negatives: $(INSTALLED) ## A SEAL model trained again, on documents that it confuses
	@test -f '$(DATA)/dev_docs.jsonl.gz' || { echo 'name the data: make $@ DATA=FOLDER'; exit 2; }
	@$(MAKE) --no-print-directory $(SEAL)/hard-table.md
	@cat $(SEAL)/hard-table.md

$(SEAL)/train.jsonl: $(SEAL)/docs.jsonl
	$(STRUCTKIT) html-variants $< --on-error skip -o $@

$(SEAL)/hard-run.jsonl: $(SEAL)/$(HARD).model $(SEAL)/train.jsonl $(SEAL)/train-queries.jsonl
	$(STRUCTKIT) encode --as document -m $< $(SEAL)/train.jsonl -o $(SEAL)/hard-run.npy
	$(STRUCTKIT) search $(SEAL)/hard-run.npy -m $< --queries $(SEAL)/train-queries.jsonl -o $@

$(SEAL)/hard-variants.jsonl: $(SEAL)/hard-run.jsonl $(SEAL)/train-qrels.jsonl
	$(STRUCTKIT) pair --qrels $(SEAL)/train-qrels.jsonl --queries $(SEAL)/train-queries.jsonl \
	  --corpus $(SEAL)/docs.jsonl --negatives-from $< --per-query $(NEGATIVES) --on-error skip \
	  | $(STRUCTKIT) html-variants --on-error skip -o $@
NEGATIVES := 2

$(SEAL)/hard@%.model: SEAL_MODEL = --model $(SEAL)/$(HARD).model
$(eval $(call seal-system,hard,seal,hard-variants,,tagged))

$(SEAL)/hard-table.md: $(SEAL)/dev-qrels.jsonl $(SEAL)/hard@0.jsonl $(SEAL)/$(HARD).jsonl
	$(STRUCTKIT) score --qrels $< --measures '$(SEAL_MEASURES)' --markdown \
	  --compare $(SEAL)/$(HARD).jsonl $(SEAL)/hard@0.jsonl $(SEAL)/$(HARD).jsonl -o $@

clean: ## Remove what recipes and installation wrote
	rm -rf runs build dist *.egg-info $(VENV)

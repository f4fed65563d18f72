# SANTA for code from a model that exists: make santa-code MODEL=minilm. CODE_PAIRS (function,
# documentation) of six languages train one model for each system and seed; each is searched on each
# of SETS, queries and functions of one language, of renamed Python (adv), and of the web (cosqa).
#   start   the model as it is            sda    alignment alone (of original code)
#   mep     entity prediction alone       santa  both      spans  both, with spans for entities
#   hard    sda again, with functions that it confuses     again  the same without these
#   unlabelled      santa of the functions of installed packages, unlabelled-sda  sda from there
#   original-W, masked-W   alignment of original or of masked code, beside entity prediction of weight W
# `make -C experiments santa-weights` trains these last ones (original-0 is sda, masked-0.1 santa), and searches each language also
# in code whose names were replaced, one name by the same one throughout (renamed-LANGUAGE).
# `make -C experiments santa-model` installs the model of the system BEST, for `ask` and `make repositories`.
.PHONY: santa-pretrained santa-weights santa-model report-code report-code-masking report-code-unlabelled report-code-weights

CODE = runs/santa-code-$(notdir $(MODEL))
COSQA = $(DATA)/cosqa
CODE_PAIRS := 21500
CODE_SEEDS := 0 1 2
LANGUAGES := python java go php javascript ruby
SETS := $(LANGUAGES) adv $(if $(wildcard $(COSQA)),cosqa)
CODE_SYSTEMS := mep sda santa spans hard again unlabelled unlabelled-sda
# whose functions are pretrained on, and how many of them
PACKAGES = $(shell $(BIN)/python -c 'import orjson, pathlib; print(pathlib.Path(orjson.__file__).parents[1])')
INSTALLED_PAIRS := 50000
BEST := sda
PRETRAINED_FLAGS := --document-length 160 --query-length 64 --batch-size 64 --learning-rate 2e-5 \
  --temperature 0.05 --symmetric --epochs 1 $(BF16)
# entity prediction starts at ten times the loss of the alignment
ENTITY_WEIGHT := 0.1
CODE_MASK := --mask-ratio 0.3
CODE_MARGIN := 0.05

santa-pretrained: $(SETS:%=$(CODE)/%.md) $(CODE)/exposure.jsonl $(CODE)/report.json
	@tail -n +1 $(filter-out %.json,$^)

santa-weights: CODE = runs/$@
# the most decisive first: with some of WEIGHED, and one of CODE_SEEDS, the table has these rows
WEIGHTS := 0 0.1 1
WEIGHED_SETS := $(LANGUAGES) adv $(LANGUAGES:%=renamed-%)
WEIGHED = $(WEIGHTS:%=masked-%) $(WEIGHTS:%=original-%) spans
santa-weights: $(INSTALLED) ## What entity prediction adds
	$(call needs,codesearch/train.jsonl.gz)
	@$(MAKE) --no-print-directory santa-pretrained MODEL=minilm CODE='$(CODE)' CODE_PAIRS=5400 \
	  CODE_SYSTEMS='$(WEIGHED)' CODE_SEEDS='$(CODE_SEEDS)' SETS='$(WEIGHED_SETS)' \
	  CODE_TITLE='The two parts of SANTA apart, in code as it is and in renamed code: MiniLM on 5,400 functions, RR@100' \
	  CODE_COMMAND='make $@ WEIGHED="$(WEIGHED)" CODE_SEEDS="$(CODE_SEEDS)"'

$(CODE)/pairs.jsonl: $(DATA)/codesearch/train.jsonl.gz
	@mkdir -p $(CODE)
	$(STRUCTKIT) select $< --sample $(CODE_PAIRS) | $(STRUCTKIT) pair --dedupe -o $@

$(CODE)/masked.jsonl: $(CODE)/pairs.jsonl
	$(STRUCTKIT) mask-entities $< $(CODE_MASK) --keep-plain -o $@

$(CODE)/spans.jsonl: $(CODE)/pairs.jsonl
	$(STRUCTKIT) mask-entities $< --strategy span --keep-plain -o $@

# functions with their documentation and the license of their package, but none that is searched
$(CODE)/licenses.jsonl:
	@mkdir -p $(CODE)
	$(BIN)/python -m experiments.installed $(PACKAGES) -o $@

$(CODE)/tested-query.jsonl: $(patsubst %,$(CODE)/%.jsonl,$(SETS:cosqa=cosqa-queries))
	cat $^ > $@

$(CODE)/tested-positive.jsonl: $(SETS:%=$(CODE)/%.jsonl)
	cat $^ > $@

$(CODE)/installed.jsonl: $(CODE)/licenses.jsonl $(CODE)/tested-query.jsonl $(CODE)/tested-positive.jsonl
	$(STRUCTKIT) collect $(PACKAGES) --unit function --no-ignore \
	  | $(STRUCTKIT) select --where language=python --where 'docstring~\S' --join $< --on path \
	  | $(STRUCTKIT) select --where 'license~\S' | $(STRUCTKIT) pair --dedupe --on-error skip \
	  | $(STRUCTKIT) select --not-in $(word 2,$^) --on query \
	  | $(STRUCTKIT) select --not-in $(word 3,$^) --on positive -o $@

$(CODE)/unlabelled.jsonl: $(CODE)/installed.jsonl
	$(STRUCTKIT) select $< --sample $(INSTALLED_PAIRS) \
	  | $(STRUCTKIT) mask-entities $(CODE_MASK) --keep-plain -o $@

# what is searched
$(CODE)/adv.jsonl: $(DATA)/codesearch/dev_adv_python.jsonl.gz
	@mkdir -p $(CODE)
	$(STRUCTKIT) pair $< -o $@

# one name is one number, also those of types and of what a function calls; comments and strings stay
$(CODE)/renamed-%.jsonl: $(CODE)/%.jsonl
	$(STRUCTKIT) mask-entities $< --field positive --types --keep-plain \
	  | sed -E 's/<extra_id_([0-9]+)>/v\1/g' | $(STRUCTKIT) select --fields id,query,masked \
	  --rename masked=positive -o $@

$(CODE)/cosqa.jsonl: $(COSQA)/corpus.jsonl.gz
	@mkdir -p $(CODE)
	$(STRUCTKIT) select $< --rename code=positive -o $@

$(CODE)/cosqa-queries.jsonl: $(COSQA)/retrieval_dev.jsonl.gz
	@mkdir -p $(CODE)
	$(STRUCTKIT) select $< --fields id,query -o $@

$(CODE)/cosqa-qrels.jsonl: $(COSQA)/retrieval_dev.jsonl.gz
	@mkdir -p $(CODE)
	$(STRUCTKIT) select $< --fields id,doc_id --rename id=query_id --set relevance:=1 -o $@

$(LANGUAGES:%=$(CODE)/%.jsonl): $(CODE)/%.jsonl: $(DATA)/codesearch/dev.jsonl.gz
	@mkdir -p $(CODE)
	$(STRUCTKIT) select $< --where language=$* | $(STRUCTKIT) pair -o $@

# queries and judgements of a set: each record's own, but on the web
queries-of = $(CODE)/$(1)$(if $(filter cosqa,$(1)),-queries).jsonl
qrels-of = $(if $(filter cosqa,$(1)),$(CODE)/cosqa-qrels.jsonl,self --queries $(CODE)/$(1).jsonl)

# a system: its name, records, start, flags, and the model that it waits for
define code-system
$(CODE)/$(1)@%.model: $(CODE)/$(2).jsonl $(5)
	OMP_NUM_THREADS=1 $$(STRUCTKIT) train santa $$< -o $$@ --model $(3) $$(PRETRAINED_FLAGS) \
	  --seed $$* $(4) $$(RESUME) --save-every 50 \
	  > $$(@:.model=.trained.jsonl)
endef
ALIGN := --entity-weight 0 --align-on original
$(eval $(call code-system,mep,masked,$$(MODEL),--alignment-weight 0))
$(eval $(call code-system,sda,masked,$$(MODEL),$(ALIGN)))
$(eval $(call code-system,santa,masked,$$(MODEL),--entity-weight $(ENTITY_WEIGHT)))
$(foreach each,$(filter masked-% original-%,$(WEIGHED)),$(eval $(call code-system,$(each),masked,$$(MODEL),\
  --align-on $(firstword $(subst -, ,$(each))) --entity-weight $(lastword $(subst -, ,$(each))))))
$(eval $(call code-system,spans,spans,$$(MODEL),--entity-weight $(ENTITY_WEIGHT)))
$(eval $(call code-system,hard,confused@%,$$(CODE)/sda@$$*.model,$(ALIGN)))
$(eval $(call code-system,again,confused@%,$$(CODE)/sda@$$*.model,$(ALIGN) --negatives-per-query 0))
$(eval $(call code-system,unlabelled,unlabelled,$$(MODEL),--entity-weight $(ENTITY_WEIGHT)))
$(eval $(call code-system,unlabelled-sda,masked,$$(CODE)/unlabelled@$$*.model,$(ALIGN),$$(CODE)/unlabelled@%.model))

# functions that score close to the right one, but not above it: those may be right themselves
$(CODE)/confused@%.jsonl: $(CODE)/masked.jsonl $(CODE)/sda@%.model
	$(STRUCTKIT) encode --as document -m $(word 2,$^) --field positive $< -o $(CODE)/mined@$*.npy
	$(STRUCTKIT) search $(CODE)/mined@$*.npy -m $(word 2,$^) --queries $< -k 200 -o $(CODE)/mined@$*.jsonl
	$(STRUCTKIT) pair $< --negatives-from $(CODE)/mined@$*.jsonl --corpus $< --depth 200 \
	  --margin $(CODE_MARGIN) --seed $* --on-error skip -o $@

# BM25 is tuned on functions to learn from, of the same language
$(LANGUAGES:%=$(CODE)/learn-%.jsonl): $(CODE)/learn-%.jsonl: $(DATA)/codesearch/train.jsonl.gz
	@mkdir -p $(CODE)
	$(STRUCTKIT) select $< --where language=$* --sample 1000 | $(STRUCTKIT) pair --dedupe -o $@
$(foreach each,$(LANGUAGES),$(eval $(call bm25-choice,$$(CODE)/bm25-$(each),$$(CODE)/learn-$(each).jsonl,$$(CODE)/learn-$(each).jsonl,--qrels \
  self --queries $$(CODE)/learn-$(each).jsonl)))
tuned-on = $(or $(filter $(LANGUAGES),$(1:renamed-%=%)),python)

# a run of a set: SYSTEM@SEED/SET.jsonl
define code-set
$(CODE)/start/$(1).jsonl: $(CODE)/$(1).jsonl $(call queries-of,$(1))
	@mkdir -p $$(@D)
	OMP_NUM_THREADS=1 $$(STRUCTKIT) search $$< -m $$(MODEL) --queries $$(word 2,$$+) -o $$@
$(CODE)/%/$(1).jsonl: $(CODE)/%.model $(CODE)/$(1).jsonl $(call queries-of,$(1))
	@mkdir -p $$(@D)
	OMP_NUM_THREADS=1 $$(STRUCTKIT) search $$(word 2,$$+) -m $$< --queries $$(word 3,$$+) -o $$@
$(CODE)/bm25/$(1).jsonl: $(CODE)/$(1).jsonl $(call queries-of,$(1))
	@mkdir -p $$(@D)
	$$(STRUCTKIT) search $$< --method bm25 --queries $$(word 2,$$+) -o $$@
$(CODE)/bm25-tuned/$(1).jsonl: $(CODE)/$(1).jsonl $(call queries-of,$(1)) $(CODE)/bm25-$(call tuned-on,$(1))
	@mkdir -p $$(@D)
	$$(STRUCTKIT) search $$< --method bm25 $$$$(cat $$(word 3,$$+)) --queries $$(word 2,$$+) -o $$@
$(CODE)/sda+bm25@%/$(1).jsonl: $(CODE)/sda@%/$(1).jsonl $(CODE)/bm25/$(1).jsonl
	@mkdir -p $$(@D)
	$$(STRUCTKIT) fuse $$^ -o $$@
$(CODE)/$(1)/systems: $(CODE_RUNS:%=$(CODE)/%/$(1).jsonl)
$(CODE)/$(1).md: $(CODE)/$(1)/systems $(CODE_RUNS:%=$(CODE)/%/$(1).jsonl)
	$$(STRUCTKIT) score --qrels $(call qrels-of,$(1)) --measures 'RR@100 Success@1 R@10' --markdown \
	  --compare $(CODE)/start/$(1).jsonl $$(LISTED) -o $$@
endef
CODE_BM25 := bm25 bm25-tuned
CODE_RUNS = $(filter-out $(KEPT_RUNS),start $(CODE_BM25) $(foreach seed,$(CODE_SEEDS),$(CODE_SYSTEMS:%=%@$(seed)) \
  $(if $(filter sda,$(CODE_SYSTEMS)),sda+bm25@$(seed))))
$(foreach set,$(SETS),$(eval $(call code-set,$(set))))
$(CODE)/cosqa.md: | $(CODE)/cosqa-qrels.jsonl

$(CODE)/exposure.jsonl: $(SETS:%=$(CODE)/%.md)
	$(STRUCTKIT) select $(CODE)/*.trained.jsonl --fields folder,records,steps,seconds -o $@

# for the report, where all sets are one table of RR@100
$(CODE)/values-%.jsonl: $(CODE)/%.md
	$(STRUCTKIT) score --qrels $(call qrels-of,$*) --measures 'RR@100 Success@1 R@10' --per-query \
	  $(foreach run,$(CODE_RUNS),$(CODE)/$(run)/$*.jsonl) -o $@

CODE_TITLE = SANTA for code, from $(notdir $(MODEL)): RR@100
CODE_COMMAND = make santa-code MODEL=$(MODEL) CODE_PAIRS=$(CODE_PAIRS) \
  CODE_SYSTEMS="$(CODE_SYSTEMS)" CODE_SEEDS="$(CODE_SEEDS)"
# alignment lifts the model, above BM25 in each set; entity prediction alone does, adds to alignment, also
# where names carry nothing, and more than spans; hard negatives and more pretraining add. Of the weights one thing,
# stated on 2026-11-23 before the first run: entity prediction helps where names carry nothing. Of packages, as of the
# weights: they lift the model in each language, above BM25 over all, and entity prediction adds. Stated on 2026-11-25,
# before the first run of spans with three seeds: entities are better masked, over the languages and where names differ
CODE_HYPOTHESES = sda:start:pooled sda:start:adv sda:start:cosqa $(patsubst %,sda:bm25:%,$(LANGUAGES) adv cosqa) mep:start:pooled \
  santa:sda:pooled santa:sda:adv spans:sda:pooled hard:again:pooled unlabelled:start:pooled \
  unlabelled-sda:sda:pooled unlabelled-sda:again:pooled \
  masked-0.1:spans:pooled masked-0.1:spans:adv $(foreach each,masked original,$(each)-0.1:$(each)-0:renamed $(each)-1:$(each)-0:renamed) \
  packages:start:pooled $(LANGUAGES:%=packages:start:%) packages:bm25:pooled packages:packages-plain:pooled \
  $(ZERO_SHOT_HYPOTHESES) $(BATCHED_HYPOTHESES) $(REFINED_HYPOTHESES) $(DECODER_HYPOTHESES) $(ROW_HYPOTHESES)
# written on 2026-11-28, after the run, from the paper: alignment improves search, and so does masked code
CODE_HYPOTHESES += original-0:start:pooled original-0:masked-0:pooled
$(CODE)/report.json: $(SETS:%=$(CODE)/values-%.jsonl)
	$(GATHER) $^ --title '$(CODE_TITLE)' \
	  --against start $(CODE_BM25) $(filter sda again masked-0 original-0 spans packages-plain $(DECODER_AGAINST) batch-16 batch-16-longer first whole consistent vector,$(CODE_SYSTEMS)) --stated $(CODE_HYPOTHESES) \
	  --pool pooled $(LANGUAGES) --pool renamed $(LANGUAGES:%=renamed-%) \
	  --command '$(CODE_COMMAND)' --folder $(CODE) -o $@ --data $(DATA)/codesearch/train.jsonl.gz $(DATA)/codesearch/dev.jsonl.gz \
	  $(if $(filter adv,$(SETS)),$(DATA)/codesearch/dev_adv_python.jsonl.gz) $(if $(filter cosqa,$(SETS)),$(COSQA)/corpus.jsonl.gz)

# without a model to train, the same rows are in these tables
report-code report-code-masking report-code-unlabelled report-code-weights: SLICE_OF_CODE = runs/report/$(if $(AGAIN),$@,code)
report-code-weights: SLICE_OF_CODE := runs/report/weights
report-code-weights: SETS := $(WEIGHED_SETS)
report-code-masking: INSTALLED_PAIRS := 5400
report-code-masking report-code-weights: CODE_PAIRS := 5400
report-code report-code-masking report-code-unlabelled report-code-weights: report-%:
	@$(MAKE) --no-print-directory $(SLICE_OF_CODE)/report.json MODEL=minilm CODE='$(SLICE_OF_CODE)' \
	  CODE_PAIRS='$(CODE_PAIRS)' INSTALLED_PAIRS='$(INSTALLED_PAIRS)' SETS='$(SETS)' \
	  CODE_BM25='$(if $(filter code-weights,$*),$(CODE_BM25),bm25)' CODE_SYSTEMS='$(AGAIN)' CODE_SEEDS='$(AGAIN_SEED)'
	$(TELL) check experiments/reports/$*.json $(SLICE_OF_CODE)/report.json

santa-model: $(INSTALLED) ## The model that ask and repositories use: make -C experiments santa-model MODEL=minilm
	$(call needs,codesearch/train.jsonl.gz)
	@test -n '$(MODEL)' || { echo 'name the start: make $@ MODEL=minilm'; exit 2; }
	@test ! -e '$(ASK_MODEL)' || { echo '$(ASK_MODEL) is there already: remove it first'; exit 1; }
	@$(MAKE) --no-print-directory $(CODE)/$(BEST)@0.model
	@mkdir -p '$(dir $(ASK_MODEL))'
	cp -r $(CODE)/$(BEST)@0.model '$(ASK_MODEL).partial'
	sed 's/$(BEST)@0.model/$(notdir $(ASK_MODEL))/g' $(CODE)/$(BEST)@0.model/README.md > '$(ASK_MODEL).partial/README.md'
	mv '$(ASK_MODEL).partial' '$(ASK_MODEL)'

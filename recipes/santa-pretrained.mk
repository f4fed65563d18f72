# SANTA for code from a model that exists: make santa-code MODEL=minilm. CODE_PAIRS (function,
# documentation) of six languages train one model for each system and seed; each is searched on each
# of SETS, queries and functions of one language, of renamed Python (adv), and of the web (cosqa).
#   start   the model as it is            sda    alignment alone (of original code)
#   mep     entity prediction alone       santa  both      spans  both, with spans for entities
#   hard    sda again, with functions that it confuses     again  the same without these
.PHONY: santa-pretrained

CODE = runs/santa-code-$(notdir $(MODEL))
COSQA = $(DATA)/../cosqa
CODE_PAIRS := 21500
CODE_SEEDS := 0 1 2
SETS := python java go php javascript ruby adv cosqa
CODE_SYSTEMS := mep sda santa spans hard again
PRETRAINED_FLAGS := --document-length 160 --query-length 64 --batch-size 64 --learning-rate 2e-5 \
  --temperature 0.05 --symmetric --epochs 1 $(BF16)
# entity prediction starts at ten times the loss of the alignment
ENTITY_WEIGHT := 0.1
CODE_MASK := --mask-ratio 0.3
CODE_MARGIN := 0.05

santa-pretrained: $(SETS:%=$(CODE)/%.md) $(CODE)/exposure.jsonl
	@tail -n +1 $^

$(CODE)/pairs.jsonl: $(DATA)/train.jsonl.gz
	@mkdir -p $(CODE)
	$(STRUCTKIT) select $< --sample $(CODE_PAIRS) | $(STRUCTKIT) pair --dedupe -o $@

$(CODE)/masked.jsonl: $(CODE)/pairs.jsonl
	$(STRUCTKIT) mask-entities $< $(CODE_MASK) --keep-plain -o $@

$(CODE)/spans.jsonl: $(CODE)/pairs.jsonl
	$(STRUCTKIT) mask-entities $< --strategy span --keep-plain -o $@

# what is searched
$(CODE)/adv.jsonl: $(DATA)/dev_adv_python.jsonl.gz
	@mkdir -p $(CODE)
	$(STRUCTKIT) pair $< -o $@

$(CODE)/cosqa.jsonl: $(COSQA)/corpus.jsonl.gz
	@mkdir -p $(CODE)
	$(STRUCTKIT) select $< --rename code=positive -o $@

$(CODE)/cosqa-queries.jsonl: $(COSQA)/retrieval_dev.jsonl.gz
	@mkdir -p $(CODE)
	$(STRUCTKIT) select $< --fields id,query -o $@

$(CODE)/cosqa-qrels.jsonl: $(COSQA)/retrieval_dev.jsonl.gz
	@mkdir -p $(CODE)
	$(STRUCTKIT) select $< --fields id,doc_id --rename id=query_id --set relevance:=1 -o $@

$(patsubst %,$(CODE)/%.jsonl,$(filter-out adv cosqa,$(SETS))): $(CODE)/%.jsonl: $(DATA)/dev.jsonl.gz
	@mkdir -p $(CODE)
	$(STRUCTKIT) select $< --where language=$* | $(STRUCTKIT) pair -o $@

# queries and judgements of a set: each record's own, but on the web
queries-of = $(CODE)/$(1)$(if $(filter cosqa,$(1)),-queries).jsonl
qrels-of = $(if $(filter cosqa,$(1)),$(CODE)/cosqa-qrels.jsonl,self --queries $(CODE)/$(1).jsonl)

define code-system
$(CODE)/$(1)@%.model: $(CODE)/$(2).jsonl
	OMP_NUM_THREADS=1 $$(STRUCTKIT) train santa $$< -o $$@ --model $(3) $$(PRETRAINED_FLAGS) \
	  --seed $$* $(4) $$(if $$(wildcard $$@.partial/step-*),--resume) --save-every 50 \
	  > $$(@:.model=.trained.jsonl)
endef
ALIGN := --entity-weight 0 --align-on original
$(eval $(call code-system,mep,masked,$$(MODEL),--alignment-weight 0))
$(eval $(call code-system,sda,masked,$$(MODEL),$(ALIGN)))
$(eval $(call code-system,santa,masked,$$(MODEL),--entity-weight $(ENTITY_WEIGHT)))
$(eval $(call code-system,spans,spans,$$(MODEL),--entity-weight $(ENTITY_WEIGHT)))
$(eval $(call code-system,hard,confused@%,$$(CODE)/sda@$$*.model,$(ALIGN)))
$(eval $(call code-system,again,confused@%,$$(CODE)/sda@$$*.model,$(ALIGN) --negatives-per-query 0))

# functions that score close to the right one, but not above it: those may be right themselves
$(CODE)/confused@%.jsonl: $(CODE)/masked.jsonl $(CODE)/sda@%.model
	$(STRUCTKIT) encode --as document -m $(word 2,$^) --field positive $< -o $(CODE)/mined@$*.npy
	$(STRUCTKIT) search $(CODE)/mined@$*.npy -m $(word 2,$^) --queries $< -k 50 -o $(CODE)/mined@$*.jsonl
	$(STRUCTKIT) pair $< --negatives-from $(CODE)/mined@$*.jsonl --corpus $< --margin $(CODE_MARGIN) \
	  --seed $* -o $@

# a run of a set: SYSTEM@SEED/SET.jsonl
define code-set
$(CODE)/start/$(1).jsonl: $(CODE)/$(1).jsonl $(call queries-of,$(1))
	@mkdir -p $$(@D)
	OMP_NUM_THREADS=1 $$(STRUCTKIT) encode --as document -m $$(MODEL) $$< -o $$(@:.jsonl=.npy)
	OMP_NUM_THREADS=1 $$(STRUCTKIT) search $$(@:.jsonl=.npy) -m $$(MODEL) --queries $$(word 2,$$+) -o $$@
$(CODE)/%/$(1).jsonl: $(CODE)/%.model $(CODE)/$(1).jsonl $(call queries-of,$(1))
	@mkdir -p $$(@D)
	OMP_NUM_THREADS=1 $$(STRUCTKIT) encode --as document -m $$< $$(word 2,$$+) -o $$(@:.jsonl=.npy)
	OMP_NUM_THREADS=1 $$(STRUCTKIT) search $$(@:.jsonl=.npy) -m $$< --queries $$(word 3,$$+) -o $$@
$(CODE)/bm25/$(1).jsonl: $(CODE)/$(1).jsonl $(call queries-of,$(1))
	@mkdir -p $$(@D)
	$$(STRUCTKIT) search $$< --method bm25 --queries $$(word 2,$$+) -o $$@
$(CODE)/sda+bm25@%/$(1).jsonl: $(CODE)/sda@%/$(1).jsonl $(CODE)/bm25/$(1).jsonl
	@mkdir -p $$(@D)
	$$(STRUCTKIT) fuse $$^ -o $$@
$(CODE)/$(1).md: $(CODE_RUNS:%=$(CODE)/%/$(1).jsonl)
	$$(STRUCTKIT) score --qrels $(call qrels-of,$(1)) --measures 'RR@100 Success@1 R@10' --markdown \
	  --compare $(CODE)/start/$(1).jsonl $$^ -o $$@
endef
CODE_RUNS = start bm25 $(foreach seed,$(CODE_SEEDS),$(CODE_SYSTEMS:%=%@$(seed)) sda+bm25@$(seed))
$(foreach set,$(SETS),$(eval $(call code-set,$(set))))

$(CODE)/exposure.jsonl: $(SETS:%=$(CODE)/%.md)
	$(STRUCTKIT) select $(CODE)/*.trained.jsonl --fields folder,records,steps,seconds -o $@

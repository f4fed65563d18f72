# The public files of SANTA's paper as records: pairs to pretrain on, and queries, documents and judgements.
PS := runs/paper-santa
# nltk needs NLTK's data; rules need none
PS_TAGGER := nltk
CODESEARCHNET = $(wildcard $(DATA)/codesearchnet/*/final/jsonl/train/*.jsonl.gz)
ESCI = $(DATA)/esci/shopping_queries_dataset_

# documentation and function
$(PS)/code/masked.jsonl: $(CODESEARCHNET)
	@mkdir -p $(@D)
	$(STRUCTKIT) convert --from codesearchnet $^ | $(STRUCTKIT) pair --on-error skip \
	  | $(STRUCTKIT) mask-entities --on-error skip -o $@

ADVTEST := $(foreach split,train test,$(addprefix $(split)-,queries.jsonl qrels.jsonl corpus.jsonl))
$(ADVTEST:%=$(PS)/code/%): $(PS)/code/%.jsonl: $(DATA)/advtest/train.jsonl $(DATA)/advtest/test.jsonl
	@mkdir -p $(@D)
	$(STRUCTKIT) convert --from codexglue-adv --part $(lastword $(subst -, ,$*)) \
	  $(DATA)/advtest/$(firstword $(subst -, ,$*)).jsonl \
	  $(if $(filter train-corpus,$*),| $(STRUCTKIT) pair --on-error skip) > $@

# a random bullet point and the description, of products that are judged for training
$(PS)/product/judged.jsonl: $(ESCI)examples.parquet
	@mkdir -p $(@D)
	$(STRUCTKIT) convert --from esci --part qrels $< | $(STRUCTKIT) select --where 'doc_id~^us:' -o $@
$(PS)/product/masked.jsonl: $(ESCI)products.parquet $(PS)/product/judged.jsonl
	$(STRUCTKIT) select $(word 2,$^) --where split=train -o $@.judged
	$(STRUCTKIT) convert --from esci --part corpus $< | $(STRUCTKIT) select --in $@.judged --on id=doc_id \
	  | $(STRUCTKIT) pair --on-error skip | $(STRUCTKIT) mask-entities --tagger $(PS_TAGGER) --on-error skip -o $@

# ESCI's smaller set; not every product has a description. Of its 20,888 training queries the paper trains on 18,277 and has
# 2,611 for development. It does not say which; here a sample by id
PS_QUERIES := 18277
$(PS)/product/%-judged.jsonl: $(PS)/product/judged.jsonl
	$(STRUCTKIT) select $< --where split=$* --where small_version=1 -o $@
$(PS)/product/%-queries.jsonl: $(ESCI)examples.parquet $(PS)/product/%-judged.jsonl
	$(STRUCTKIT) convert --from esci --part queries $< | $(STRUCTKIT) select --in $(word 2,$^) --on id=query_id \
	  $(if $(filter train,$*),| $(STRUCTKIT) select --sample $(PS_QUERIES)) > $@
$(PS)/product/%-qrels.jsonl: $(PS)/product/%-judged.jsonl $(PS)/product/%-queries.jsonl
	$(STRUCTKIT) select $< --in $(word 2,$^) --on query_id=id -o $@
$(PS)/product/%-corpus.jsonl: $(ESCI)products.parquet $(PS)/product/%-qrels.jsonl
	$(STRUCTKIT) convert --from esci --part corpus $< \
	  | $(STRUCTKIT) select --in $(word 2,$^) --on id=doc_id -o $@.all
	$(STRUCTKIT) select $@.all --where description~. -o $@.some
	{ cat $@.some; $(STRUCTKIT) select $@.all --not-in $@.some --set description=; } \
	  | $(STRUCTKIT) pair --query title --positive-template 'title : {title} text : {description}' -o $@

# Models whose weights are pickles, which structkit refuses, with safe weights: `make paper-weights MODEL=Salesforce/codet5-base`
# writes models/codet5-base, from which `paper-santa` then starts; `paper-seal` starts from models/bge-m3
.PHONY: paper-weights
CONVERTED = models/$(notdir $(MODEL))
paper-weights: $(RUNNABLE)
	$(BIN)/python -m experiments.weights '$(MODEL)' -o '$(CONVERTED)'
start-model = $(or $(MODEL),$(wildcard models/$(notdir $(1))),$(1))

# Does composition add anything to the mean of the same word vectors? Each start by each composition:
# random vectors, those of a table that MiniLM was distilled into, and with GLOVE=FILE GloVe's; frozen,
# and trained further. A row `-words` is the mean of the words of the model above it, with which that
# model is compared, on the same pairs.
.PHONY: strae-starts strae-starts-train report-strae-starts

strae-starts: $(INSTALLED) ## Word vectors and composition: make -C experiments strae-starts [GLOVE=FILE]
	$(call needs,strae_eval)
	@$(MAKE) --no-print-directory -j 2 strae-starts-train
	@$(MAKE) --no-print-directory -j 2 $(STARTS)/table.md
	@cat $(STARTS)/table.md

strae-starts-train: $(INSTALLED)

STARTS := $(STRAE)/starts
STRAE_ROWS := $(STARTS)/systems $(STARTS)/scores.jsonl
STRAE_TRAINED := strae-starts-train

$(STARTS)/minilm: $(STRAE)/train-text.jsonl
	@mkdir -p $(@D)
	$(STRUCTKIT) train static $< -o $@ -q --model minilm

SIZED_random := --embedding-size 256
SIZED_minilm := --embedding-size 256 --init-embeddings $(STARTS)/minilm
SIZED_glove = --embedding-size $(GLOVE_SIZE) --init-embeddings $(GLOVE)

# a model beside the mean of its words
define start-compared
$(STARTS)/report.json: $(STARTS)/$(1).compared.jsonl
$(STARTS)/$(1).compared.jsonl: $(STARTS)/systems $(SEEDS:%=$(STARTS)/$(1)@%.jsonl) $(SEEDS:%=$(STARTS)/$(1)-words@%.jsonl)
	$$(SUITE) $$(LISTED) $$(addprefix --compare ,$$(filter $(STARTS)/$(1)-words@%,$$^)) -o $$@
endef

# a start's name, the numbers of one channel of StrAE, the channels of StrAE and of Banyan, more flags
define strae-start
$(foreach seed,$(SEEDS),$(STARTS)/$(1)-strae@$(seed).model $(STARTS)/$(1)-strae-untrained@$(seed).model \
  $(STARTS)/$(1)-self-strae@$(seed).model $(STARTS)/$(1)-banyan@$(seed).model): $(5)
$(call strae-model,starts/$(1)-strae,strae,constituency,$(SUM) $(4) --channels $(2))
$(call strae-model,starts/$(1)-strae-untrained,strae,constituency,$(SUM) $(4) --channels $(2) --max-steps 0)
$(call strae-model,starts/$(1)-self-strae,self-strae,text,$(SUM) $(4) --channels $(2))
$(call strae-model,starts/$(1)-banyan,banyan,text,$(FAST) $(4) --channels $(3))
$(call strae-words,starts/$(1)-strae,constituency)
$(call strae-words,starts/$(1)-self-strae)
$(call strae-words,starts/$(1)-banyan)
$(foreach method,strae self-strae banyan,$(eval $(call start-compared,$(1)-$(method))))
endef
strae-starts-of = $(eval $(call strae-start,$(1),$(2),$(3),$(SIZED_$(1)),$(4)))$(eval $(call \
  strae-start,$(1)-frozen,$(2),$(3),$(SIZED_$(1)) --freeze-embeddings,$(4)))

$(call strae-starts-of,random,16,128,)
$(call strae-starts-of,minilm,16,128,$(STARTS)/minilm)
ifdef GLOVE
$(call strae-starts-of,glove,5,25,)
endif

$(STARTS)/scores.jsonl: $(STARTS)/systems
	$(SUITE) $(LISTED) -o $@

# composition is above the mean of its words, from each start
START_HYPOTHESES := $(foreach start,random random-frozen minilm minilm-frozen glove glove-frozen,$(foreach \
  method,strae self-strae banyan,$(start)-$(method):$(start)-$(method)-words))
TELL_STARTS = $(TELL) gather $^ --suite --stated $(START_HYPOTHESES) --title 'Word vectors, and what composition adds to them' \
  --folder $(STARTS) -o $@ --data $(WIKITEXT) \
  --command 'make -C experiments strae-starts SENTENCES=$(SENTENCES) SEEDS="$(SEEDS)"$(if $(GLOVE), GLOVE=$(notdir $(GLOVE)))'
$(STARTS)/report.json: $(STARTS)/scores.jsonl
	$(TELL_STARTS)

$(STARTS)/table.md: $(STARTS)/report.json
	$(TELL) show $< > $@

# one model
$(eval $(call strae-slice,strae-starts,TELL_STARTS,$(STARTS),random-frozen-strae@0 random-frozen-strae-words@0))

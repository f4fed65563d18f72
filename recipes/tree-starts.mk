# Does composition add anything to the mean of the same word vectors? Each start by each composition:
# random vectors, those of a table that MiniLM was distilled into, and with GLOVE=FILE GloVe's; frozen,
# and trained further. A row `-words` is the mean of the words of the model above it.
.PHONY: strae-starts strae-starts-train

strae-starts: $(INSTALLED) ## Word vectors and composition: make strae-starts DATA=../shared/data [GLOVE=FILE]
	@test -d '$(DATA)/strae_eval' || { echo 'name the data: make $@ DATA=FOLDER'; exit 2; }
	@$(MAKE) --no-print-directory -j 2 strae-starts-train
	@$(MAKE) --no-print-directory -j 2 $(TABLE_OF_STARTS)
	@cat $(TABLE_OF_STARTS)

strae-starts-train: $(INSTALLED)

TABLE_OF_STARTS := $(STRAE)/starts/table.md
STRAE_ROWS := $(TABLE_OF_STARTS)
STRAE_TRAINED := strae-starts-train

$(STRAE)/starts/minilm: $(STRAE)/train-text.jsonl
	@mkdir -p $(@D)
	$(STRUCTKIT) train static $< -o $@ -q --model minilm

SIZED_random := --embedding-size 256
SIZED_minilm := --embedding-size 256 --init-embeddings $(STRAE)/starts/minilm
SIZED_glove = --embedding-size $(GLOVE_SIZE) --init-embeddings $(GLOVE)

# a start's name, the numbers of one channel of StrAE, the channels of StrAE and of Banyan, more flags
define strae-start
$(foreach seed,$(SEEDS),$(STRAE)/starts/$(1)-strae@$(seed).model \
  $(STRAE)/starts/$(1)-self-strae@$(seed).model $(STRAE)/starts/$(1)-banyan@$(seed).model): $(5)
$(call strae-model,starts/$(1)-strae,strae,constituency,$(SUM) $(4) --channels $(2))
$(call strae-model,starts/$(1)-self-strae,self-strae,text,$(SUM) $(4) --channels $(2))
$(call strae-model,starts/$(1)-banyan,banyan,text,$(FAST) $(4) --channels $(3))
$(call strae-words,starts/$(1)-strae,constituency)
$(call strae-words,starts/$(1)-self-strae)
$(call strae-words,starts/$(1)-banyan)
endef
strae-starts-of = $(eval $(call strae-start,$(1),$(2),$(3),$(SIZED_$(1)),$(4)))$(eval $(call \
  strae-start,$(1)-frozen,$(2),$(3),$(SIZED_$(1)) --freeze-embeddings,$(4)))

$(call strae-starts-of,random,16,128,)
$(call strae-starts-of,minilm,16,128,$(STRAE)/starts/minilm)
ifdef GLOVE
$(call strae-starts-of,glove,5,25,)
endif

$(TABLE_OF_STARTS):
	$(STRUCTKIT) score --task suite --workers 2 --markdown $^ -o $@

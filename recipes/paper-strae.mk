# StrAE with the settings of its paper, tables 3 and 4: StrAE, IORNN and Tree-LSTM with both objectives on three kinds of trees,
# and what reads text, five seeds each. Reads WikiExtractor's JSON, wikipedia/*/wiki_*, and the nine tasks as `make strae` does.
# Time, estimated: a contrastive step has 128 sentences of 20 words, so 5,000 nodes: 5,000² × 100 × 6 = 15 GFLOP. 58,594 steps
# take five hours of a core at 50 GFLOP/s. On one H100 a step took 0.012 s (measured), which makes 12 minutes.
.PHONY: paper-strae
paper-strae: $(RUNNABLE) ## StrAE as published: make paper-strae [PT_PARSER=builtin] [PT_SEEDS=0] [PT_ROWS=…]
	$(call needs,wikipedia)
	@$(MAKE) --no-print-directory $(PT)/table.md STRAE=$(PT)/data WIKITEXT=$(PT)/sentences.jsonl \
	  SENTENCES=$(PT_SENTENCES) CONSTITUENCY=$(PT_PARSER)
	@cat $(PT)/table.md

PT := runs/paper-strae
PT_SENTENCES := 500000
PT_ARTICLES := 100000
PT_SEEDS := 0 1 2 3 4
# the paper's; a server that you start. builtin needs none
PT_PARSER := corenlp
# appendix A; rarer words, dropout and the range of the first numbers (--init-range) are defaults
PT_SIZE := --batch-size 128 --embedding-size 100 --save-every 1000
PT_TRAIN := --epochs 15 $(PT_SIZE)
PT_C := $(PT_TRAIN) --objective contrastive --learning-rate 1e-4 --temperature 0.2
PT_CE := $(PT_TRAIN) --objective ce --learning-rate 1e-3
PT_BPE := --subwords --vocabulary-size 25000

# sentences of random articles; headings have no final sign
$(PT)/sentences.jsonl:
	@mkdir -p $(PT)/data
	cat $(DATA)/wikipedia/*/wiki_* | $(STRUCTKIT) select --sample $(PT_ARTICLES) \
	  | $(STRUCTKIT) collect --records --unit sentence - \
	  | $(STRUCTKIT) select --where 'text~[.!?]' --sample $(PT_SENTENCES) --fields id,text -o $@

# a model: its name, method, kind of records and flags
define paper-strae-model
PT_ROWS += $(1)
$(PT)/$(1)@%.model: $(PT)/data/train-$(3).jsonl
	OMP_NUM_THREADS=1 $$(STRUCTKIT) train $(2) $$< -o $$@ --seed $$* $(4) \
	  $$(RESUME) $$(PAPER_FLAGS) $(5) > $(PT)/$(1)@$$*.seen
$(PT)/$(1)@%.jsonl: $(PT)/$(1)@%.model $(PT)/data/eval-$(3).jsonl
	$$(EMBED) $$^ -o $$@ $$(call strae-sides,$(3))
endef
pt-model = $(eval $(call paper-strae-model,$(1),$(2),$(3),$(4),$(5)))
$(call pt-model,untrained,strae,constituency,$(PT_C),--max-steps 0)
$(foreach method,strae iornn tree-lstm,$(foreach kind,constituency right-branching balanced,\
  $(call pt-model,$(method)-c-$(kind),$(method),$(kind),$(PT_C))\
  $(call pt-model,$(method)-ce-$(kind),$(method),$(kind),$(PT_CE))))
$(call pt-model,self-strae,self-strae,text,$(PT_C))
$(call pt-model,self-strae-bpe,self-strae,text,$(PT_C) $(PT_BPE))
$(call pt-model,fasttext,fasttext,text,--epochs 15 --learning-rate 1e-3 --embedding-size 100)
$(call pt-model,bi-lstm,bi-lstm,text,$(PT_TRAIN) --learning-rate 1e-3)
$(call pt-model,bi-lstm-bpe,bi-lstm,text,$(PT_TRAIN) --learning-rate 1e-3 $(PT_BPE))
$(call pt-model,roberta,roberta,text,$(PT_SIZE) --epochs 100 --learning-rate 5e-5 --warmup 0.1 --schedule linear)

$(PT)/scores.jsonl: $(foreach seed,$(PT_SEEDS),$(PT_ROWS:%=$(PT)/%@$(seed).jsonl))
	$(SUITE) $^ -o $@
$(PT)/table.md: $(PT)/scores.jsonl
	$(TELL) gather $< --suite --title 'StrAE as published' --folder $(PT) --command 'make paper-strae' -o $(PT)/report.json
	$(TELL) show $(PT)/report.json > $@

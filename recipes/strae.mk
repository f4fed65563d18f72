# StrAE and its baselines. All models see the same sentences equally often (those named otherwise apart)
# and are scored on the nine tasks of the paper's table 2. On a GPU, with all sentences:
# make strae SENTENCES=216247 PASSES=12 BATCH=128 SEEDS='0 1 2 3 4'
.PHONY: strae strae-train strae-eval report-strae

strae: $(RUNNABLE) ## StrAE and its baselines, nine tasks
	$(call needs,strae_eval)
	@$(MAKE) --no-print-directory -j 2 strae-train
	@$(MAKE) --no-print-directory strae-eval

strae-train: $(RUNNABLE)
# The nine tasks for the models that `make strae` trained
strae-eval: $(RUNNABLE)
	@$(MAKE) --no-print-directory -j 2 $(STRAE)/table.md $(STRAE)/trees.md $(STRAE)/seen.jsonl
	@cat $(STRAE)/table.md $(STRAE)/trees.md $(STRAE)/seen.jsonl

STRAE := runs/strae
# what the models below are rows of, and the target of their training
STRAE_ROWS := $(addprefix $(STRAE)/,systems scores.jsonl compared.jsonl)
STRAE_TRAINED := strae-train
# sentences to train on, passes over them, those of the rows named longer, the batch size; STEPS ends
# every training by gradient steps sooner; the seeds, and those of rows that are only there to look at
SENTENCES := 60000
PASSES := 1
LONGER := 5
BATCH := 64
STEPS :=
SEEDS := 0 1 2
ONE_SEED := $(firstword $(SEEDS))
# punctuation at the end of a sentence: keep or drop
FINAL_PUNCT := drop
# any parser; stanford: existing trees of its PCFG parser, for fewer sentences and most of the tasks'
CONSTITUENCY := builtin

# the paper's settings are the defaults; its learning rates are for 58,000 steps. At a constant rate, so
# few steps end with worse sentences than words: on 30,000 sentences, one pass, the mean of STS 12, 16, B
# and SICK R was 36.3 for Self-StrAE, and 39.7 when the rate falls to zero. From a random start,
# composition often ends where a root encodes only its last words
RATE := --batch-size $(BATCH) --learning-rate 2e-3 --schedule linear --final-punct $(FINAL_PUNCT) \
  $(if $(STEPS),--max-steps $(STEPS)) --save-every 500
FAST := $(RATE) --epochs $(PASSES)
SUM := $(FAST) --composition-init sum
# the released code leaves out shorter and longer sentences
PLUS := $(SUM) --on-error skip

WIKITEXT := $(DATA)/wikitext/wiki_sentences_train.jsonl.gz $(DATA)/wikitext/extra_sentences_train.jsonl.gz
$(STRAE)/train-text.jsonl: $(if $(filter stanford,$(CONSTITUENCY)),$(DATA)/wikitext2_parsed.jsonl.gz,$(WIKITEXT))
	@mkdir -p $(STRAE)
	$(STRUCTKIT) select $^ --head $(SENTENCES) -o $@

# Spearman's tasks, then those of a classifier with what it learns from
TASKS := simlex999=SimLex wordsim353_similarity=WordSim_S wordsim353_relatedness=WordSim_R \
  sts12_test=STS_12 sts16_test=STS_16 stsb_test=STS_B sick_r_test=SICK_R \
  mrpc_test=MRPC mrpc_train=MRPC rte_dev=RTE rte_train=RTE

$(STRAE)/eval-text.jsonl:
	@mkdir -p $(STRAE)
	for each in $(TASKS); do \
	  task=$${each#*=} file=$${each%=*} split=test; \
	  if [[ $$file = *train ]]; then split=train; fi; \
	  $(STRUCTKIT) select -q $(DATA)/strae_eval/$$file.jsonl.gz --rename label=score \
	    --set task="$${task/_/ }" --set split=$$split; \
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
TREES := $(STRAE)/trees-a.jsonl $(STRAE)/trees-b.jsonl
$(TREES): $(STRAE)/trees-%.jsonl: $(DATA)/strae_eval_parsed.jsonl.gz
	@mkdir -p $(STRAE)
	$(STRUCTKIT) select $< --where 'id~-$*$$' --strip 'id=-$*$$' --fields id,tree \
	  --rename tree=text_$*_tree -o $@

$(STRAE)/eval-constituency.jsonl: $(STRAE)/eval-text.jsonl $(TREES)
	$(STRUCTKIT) select $< $(TREES:%=--in %) $(TREES:%=--join %) \
	  | $(PARSE) brackets --field text_a_tree --field text_b_tree --on-error skip -o $@.found
	$(STRUCTKIT) select $< --not-in $@.found | $(PARSE) builtin $(PAIR) | cat $@.found - > $@
	rm $@.found
else
$(STRAE)/train-constituency.jsonl: $(STRAE)/train-text.jsonl
	$(PARSE) $(CONSTITUENCY) $< -o $@

$(STRAE)/eval-constituency.jsonl: $(STRAE)/eval-text.jsonl
	$(PARSE) $(CONSTITUENCY) $(PAIR) $< -o $@
endif

# sentences and steps that each model has seen
$(STRAE)/seen.jsonl: $(STRAE)/table.md
	$(STRUCTKIT) select -q $(STRAE)/*.seen --fields folder,method,records,seen,steps,seconds -o $@

# a model: its name, method, kind of records, flags and seed; its training, then its embeddings
define strae-seed
$(STRAE_TRAINED): $(STRAE)/$(1)@$(5).model
$(STRAE_ROWS): $(STRAE)/$(1)@$(5).jsonl
$(STRAE)/$(1)@$(5).model: $(STRAE)/train-$(3).jsonl
	@mkdir -p $$(@D)
	OMP_NUM_THREADS=1 $$(STRUCTKIT) train $(2) $$< -o $$@ -q --seed $(5) $(4) \
	  $$(RESUME) > $(STRAE)/$(1)@$(5).seen
$(STRAE)/$(1)@$(5).jsonl: $(STRAE)/$(1)@$(5).model $(STRAE)/eval-$(3).jsonl
	$$(EMBED) $$^ -o $$@ $(call strae-sides,$(3))
endef
# the same model, with a text as the mean of its words
define strae-mean
$(STRAE_ROWS): $(STRAE)/$(1)-words@$(3).jsonl
$(STRAE)/$(1)-words@$(3).jsonl: $(STRAE)/$(1)@$(3).model $(STRAE)/eval-$(2).jsonl
	$$(EMBED) $$^ -o $$@ $(call strae-sides,$(2)) --pooling mean
endef
EMBED = OMP_NUM_THREADS=1 $(STRUCTKIT) encode -q $(KEEP) -m
KEEP := --keep task --keep split --keep score
strae-sides = $(if $(filter text,$(1)),$(PAIR),--field text_a_tree --field text_b_tree)
strae-words = $(foreach seed,$(SEEDS),$(eval $(call strae-mean,$(1),$(or $(2),text),$(seed))))
strae-model = $(foreach seed,$(SEEDS),$(eval $(call strae-seed,$(1),$(2),$(3),$(4),$(seed))))
strae-once = $(eval $(call strae-seed,$(1),$(2),$(3),$(4),$(ONE_SEED)))

$(call strae-model,strae-untrained,strae,constituency,$(SUM) --max-steps 0)
$(call strae-model,strae-c,strae,constituency,$(SUM))
$(call strae-model,strae-ce,strae,constituency,$(SUM) --objective ce)
$(call strae-model,strae-c-right-branching,strae,right-branching,$(SUM))
$(call strae-model,strae-ce-right-branching,strae,right-branching,$(SUM) --objective ce)
$(call strae-model,strae-c-balanced,strae,balanced,$(SUM))
$(call strae-model,strae-ce-balanced,strae,balanced,$(SUM) --objective ce)
$(call strae-model,self-strae,self-strae,text,$(SUM))
$(call strae-model,self-strae-untrained,self-strae,text,$(SUM) --max-steps 0)
$(call strae-model,self-strae-plus,self-strae-plus,text,$(PLUS))
$(call strae-model,banyan,banyan,text,$(FAST))
$(call strae-model,banyan-longer,banyan,text,$(RATE) --epochs $(LONGER))
# the mean of random vectors, and of trained ones
$(call strae-words,strae-c,constituency)
$(foreach each,self-strae-untrained self-strae banyan banyan-longer,$(call strae-words,$(each)))
# 1e-3 is the paper's learning rate, the other the library's own
FASTTEXT := --buckets 200000 --final-punct $(FINAL_PUNCT)
$(call strae-model,fasttext,fasttext,text,$(FASTTEXT) --learning-rate 0.05 --epochs $(PASSES))
$(call strae-model,fasttext-longer,fasttext,text,$(FASTTEXT) --learning-rate 0.05 --epochs $(LONGER))
$(call strae-once,fasttext-paper,fasttext,text,$(FASTTEXT) --learning-rate 1e-3 --epochs 15)
# the released code trains a model on both objectives
$(call strae-once,strae-both,strae,constituency,$(SUM) --objective both)
$(call strae-once,self-strae-bpe,self-strae,text,$(SUM) --subwords)
$(call strae-once,tree-lstm-c,tree-lstm,constituency,$(FAST))
$(call strae-once,tree-lstm-ce,tree-lstm,constituency,$(FAST) --objective ce)
$(call strae-once,iornn-c,iornn,constituency,$(FAST))
$(call strae-once,iornn-ce,iornn,constituency,$(FAST) --objective ce)
$(call strae-once,bi-lstm,bi-lstm,text,$(FAST))
$(call strae-once,roberta,roberta,text,$(FAST) --learning-rate 5e-4)

# off the shelf: MiniLM, and with GLOVE=FILE the mean of its word vectors
$(STRAE_ROWS): $(STRAE)/minilm.jsonl
$(STRAE)/minilm.jsonl: $(STRAE)/eval-text.jsonl
	$(EMBED) minilm $< -o $@ $(PAIR)
ifdef GLOVE
$(STRAE_ROWS): $(STRAE)/glove-words@0.jsonl
$(STRAE)/glove@0.model: $(STRAE)/eval-words.jsonl
	$(STRUCTKIT) train self-strae $< -o $@ -q --max-steps 0 --minimum-count 1 \
	  --init-embeddings $(GLOVE) --embedding-size $(GLOVE_SIZE) --channels 1
$(STRAE)/eval-words.jsonl: $(STRAE)/eval-text.jsonl
	$(STRUCTKIT) select -q $< --rename text_a=text -o $@.a
	$(STRUCTKIT) select -q $< --rename text_b=text -o $@.b
	cat $@.a $@.b > $@ && rm $@.a $@.b
$(eval $(call strae-mean,glove,text,0))
endif
GLOVE_SIZE := 50

# all models beside the simplest, and what the paper compares
STRAE_AGAINST := fasttext self-strae-untrained-words strae-c strae-c-balanced strae-c-right-branching
SUITE := $(STRUCTKIT) score --task suite
$(STRAE)/scores.jsonl: $(STRAE)/systems
	$(SUITE) $(LISTED) -o $@
$(STRAE)/compared.jsonl: $(STRAE)/systems
	$(SUITE) $(LISTED) -o $@ $(addprefix --compare ,$(foreach \
	  name,$(STRAE_AGAINST),$(filter $(STRAE)/$(name)@%,$^)))

# constituency above other shapes; contrastive above cross-entropy on each; StrAE, Self-StrAE and Banyan above
# the mean of random vectors; StrAE above the mean of its own words, and above no training
STRAE_HYPOTHESES := strae-c:strae-c-balanced strae-c:strae-c-right-branching strae-ce:strae-c \
  strae-ce-balanced:strae-c-balanced strae-ce-right-branching:strae-c-right-branching \
  $(patsubst %,%:self-strae-untrained-words,strae-c self-strae banyan) strae-c-words:strae-c strae-untrained:strae-c
TELL_STRAE = $(TELL) gather $^ --suite --stated $(STRAE_HYPOTHESES) --title "StrAE's family: nine tasks" --folder $(@D) -o $@ \
  --command 'make strae SENTENCES=$(SENTENCES)$(if $(GLOVE), GLOVE=$(notdir $(GLOVE)))' \
  --data $(WIKITEXT)
$(STRAE)/report.json: $(STRAE)/scores.jsonl $(STRAE)/compared.jsonl
	$(TELL_STRAE)

$(STRAE)/table.md: $(STRAE)/report.json
	$(TELL) show $< > $@
	printf '\n%s %s\n' 'Mean over the seeds, 95 % interval over the pairs. Each test set is half of the published' \
	  'one but RTE, whose training set lacks a fifth.' >> $@

# the trees that models make beside gold ones, and beside trees that need no learning
INDUCED := self-strae-untrained self-strae self-strae-plus banyan banyan-longer
GOLD := $(DATA)/trees/gum_dev.jsonl.gz
$(STRAE)/trees/random.jsonl $(STRAE)/trees/builtin.jsonl: $(STRAE)/trees/%.jsonl:
	@mkdir -p $(@D)
	$(PARSE) $* --tokenized $(GOLD) -o $@
$(STRAE)/trees/%.jsonl: $(STRAE)/%.model
	@mkdir -p $(@D)
	$(PARSE) self-strae --model $< --tokenized $(GOLD) -o $@
$(STRAE)/trees/systems $(STRAE)/trees.md: $(STRAE)/trees/random.jsonl $(STRAE)/trees/builtin.jsonl \
    $(foreach seed,$(SEEDS),$(INDUCED:%=$(STRAE)/trees/%@$(seed).jsonl))
$(STRAE)/trees.md: $(STRAE)/trees/systems
	$(STRUCTKIT) score --task trees --gold $(GOLD) $(LISTED) --markdown -o $@

# rows of a table again: the report, how it is printed, the folder of the rows, their names, and where those of models are
define strae-slice
$(3)/slice.jsonl: $(patsubst %,$(3)/%.jsonl,$(4) $(AGAIN:%=$(5)%@$(AGAIN_SEED)))
	$$(SUITE) $$^ -o $$@
$(3)/slice.json: $(3)/slice.jsonl
	$$($(2))
report-$(1): SLICE_OF_STRAE := $(patsubst $(STRAE)%,runs/report/strae%,$(3))/slice.json
report-$(1):
	@$$(MAKE) --no-print-directory $$(SLICE_OF_STRAE) STRAE=runs/report/strae SENTENCES=30000
	$$(TELL) check experiments/reports/$(1).json $$(SLICE_OF_STRAE)
endef
# those without a tree to train
$(eval $(call strae-slice,strae,TELL_STRAE,$(STRAE),self-strae-untrained@0 self-strae-untrained-words@0 fasttext@0))

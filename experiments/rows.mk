# One embedding of a function, or one per token (late interaction)? MiniLM is aligned on functions of six languages, in
# ROW_STEPS steps of the same 64 pairs for both, and searches functions of each language and of renamed Python (adv).
#   vector@SEED  train contrastive     tokens@SEED  train colbert     start  MiniLM as it is
# `make -C experiments rows-tried` trains both for ROW_TRIED steps with each of ROW_RATES, and searches 1,000 training functions of
# Python that are held out. Set RATE_vector and RATE_tokens to its best ones before you run `rows`.
.PHONY: rows rows-tried

ROW_SYSTEMS := vector tokens
ROW_RATES := 5e-5 1e-4 2e-4
ROW_TRIED := 20
ROW_STEPS := 60
# 2e-4 is the highest rate tried for tokens; three times as many numbers gave more than a higher rate
RATE_vector := 1e-4
RATE_tokens := 2e-4
ROW_LENGTHS := --query-length 32 --document-length 160
OF_ROWS = MODEL=minilm CODE='$(CODE)' CODE_PAIRS=21500 CODE_BM25=bm25 SETS='$(LANGUAGES) adv'

rows rows-tried: CODE = runs/rows
rows: $(INSTALLED) ## One embedding of a function, or one per token
	$(call needs,codesearch/train.jsonl.gz)
	@$(MAKE) --no-print-directory santa-pretrained $(OF_ROWS) CODE_SYSTEMS='$(ROW_SYSTEMS)' CODE_SEEDS='$(CODE_SEEDS)' \
	  CODE_TITLE='One embedding of a function, or one per token: $(ROW_STEPS) steps from MiniLM, RR@100' \
	  CODE_COMMAND='make -C experiments $@ CODE_SEEDS="$(CODE_SEEDS)"'
	@$(MAKE) --no-print-directory $(OF_ROWS) $(CODE)/cost.md
	@cat $(CODE)/cost.md
rows-tried: $(INSTALLED)
	@$(MAKE) --no-print-directory $(OF_ROWS) $(CODE)/rows-tried.md
	@cat $(CODE)/rows-tried.md

ROW_FLAGS = --model $(MODEL) $(ROW_LENGTHS) --batch-size 64 --epochs 1 --symmetric --negatives-per-query 0 --save-every 50
TRAIN_vector = OMP_NUM_THREADS=1 $(STRUCTKIT) train contrastive $< -o $@ $(ROW_FLAGS) --temperature 0.05
TRAIN_tokens = OMP_NUM_THREADS=1 $(STRUCTKIT) train colbert $< -o $@ $(ROW_FLAGS)
$(foreach each,$(ROW_SYSTEMS),$(eval $(CODE)/$(each)@%.model: $(CODE)/pairs.jsonl ; \
  $$(TRAIN_$(each)) --seed $$* --max-steps $$(ROW_STEPS) --learning-rate $$(RATE_$(each)) $$(RESUME) \
  > $$(@:.model=.trained.jsonl)))

# the pilot: one seed
define rows-tried-of
$(CODE)/tried/$(1)@$(2).model: $(CODE)/learned.jsonl
	@mkdir -p $$(@D)
	$$(TRAIN_$(1)) -q --seed 0 --max-steps $$(ROW_TRIED) --learning-rate $(2)
$(CODE)/tried/$(1)@$(2).jsonl: $(CODE)/tried/$(1)@$(2).model $(CODE)/held.jsonl
	OMP_NUM_THREADS=1 $$(STRUCTKIT) search -q $$(word 2,$$^) -m $$< --queries $$(word 2,$$^) -o $$@
$(CODE)/rows-tried.md: $(CODE)/tried/$(1)@$(2).jsonl
endef
$(foreach each,$(ROW_SYSTEMS),$(foreach rate,$(ROW_RATES),$(eval $(call rows-tried-of,$(each),$(rate)))))
$(CODE)/rows-tried.md:
	$(STRUCTKIT) score --qrels self --queries $(CODE)/held.jsonl --measures RR@100 --markdown $^ -o $@

# bytes of the functions' embeddings, and milliseconds of a search of all queries of Python, start included, by the clock
$(CODE)/cost/%.npy: $(CODE)/%@0.model $(CODE)/python.jsonl
	@mkdir -p $(@D)
	OMP_NUM_THREADS=1 $(STRUCTKIT) encode -q -m $^ --field positive -o $@
	OMP_NUM_THREADS=1 $(STRUCTKIT) encode -q -m $^ --as query -o $(@:.npy=-queries.npy)
$(CODE)/cost.md: $(ROW_SYSTEMS:%=$(CODE)/cost/%.npy)
	@printf '| system | bytes | milliseconds |\n|---|--:|--:|\n' > $@
	@for each in $(ROW_SYSTEMS); do file=$(CODE)/cost/$$each; before=$$(date +%s%N); \
	  similarity=$$(if [ $$each = tokens ]; then echo maxsim; else echo dot; fi); \
	  OMP_NUM_THREADS=1 $(STRUCTKIT) search -q $$file.npy --queries $$file-queries.npy --similarity $$similarity -o $$file.jsonl || exit 1; \
	  echo "| $$each | $$(stat -c %s $$file.npy) | $$((($$(date +%s%N) - $$before) / 1000000)) |"; done >> $@

# stated on 2026-11-28, before the first run: rows of tokens find more than one embedding, in six languages and where names
# differ, by 0.03 RR@100 or more
ROW_HYPOTHESES := tokens:vector:pooled tokens:vector:adv

# Rows of pages: of their elements, or of the tokens of their sections, beside an embedding of each section. MiniLM as it is
# reads text, and SEAL's model tags: trained from it on a few hundred pairs, as `seal-power` does. A page has the score of
# its best element or section. ROW_MODELS=start trains nothing and takes a few minutes; all take half an hour of one core.
.PHONY: rows-pages rows-nodes

RP := runs/rows-pages
ROW_PAGES := 100
ROW_UNITS := elements sections tokens
# the ten best in time, then as many as ten pages need
PAGE_SEARCH = OMP_NUM_THREADS=1 $(TIMED) $(@:.parts.jsonl=.seconds) $(STRUCTKIT) search -q $< --queries $(word 2,$^) -k 10 -o $@ $(1) && \
  OMP_NUM_THREADS=1 $(STRUCTKIT) search -q $< --queries $(word 2,$^) -k 200 -o $@ $(1)
rows-pages: $(INSTALLED) ## Rows of a page: elements, sections, tokens
	$(call needs,structdoc/dev_docs.jsonl.gz)
	@$(MAKE) --no-print-directory POWER=$(RP) POWER_PAGES=$(ROW_PAGES) POWER_NEGATIVES=1 $(RP)/rows/report.json $(RP)/rows/cost.md
	$(TELL) show $(RP)/rows/report.json
	@cat $(RP)/rows/cost.md

$(RP)/rows/pages.jsonl: $(DATA)/structdoc/dev_docs.jsonl.gz
	@mkdir -p $(@D)
	$(STRUCTKIT) select $< --sample $(ROW_PAGES) -o $@
$(RP)/read.sections.jsonl: $(PAGED)/sections.jsonl $(RP)/rows/pages.jsonl
	$(STRUCTKIT) select $< --in $(word 2,$^) --on path=id -o $@
$(RP)/rows/queries.jsonl: $(PAGED)/queries.jsonl $(RP)/rows/pages.jsonl
	$(STRUCTKIT) select $< --in $(word 2,$^) --on doc_id=id --where part=asked -o $@
$(RP)/rows/qrels-%.jsonl: $(RP)/rows/queries.jsonl
	$(STRUCTKIT) select $< --where kind=$* --fields id,doc_id --rename id=query_id --set relevance:=1 -o $@

# a model: its name, `@` and its seed, its folder, the field of sections that it reads, and more flags
define page-rows
$(RP)/rows/$(1)-elements$(2).npy: $(RP)/rows/pages.jsonl $(3)
	OMP_NUM_THREADS=1 $$(STRUCTKIT) encode -q -m $(or $(3),minilm) --rows elements --quantize fp16 $(5) $$< -o $$@
$(RP)/rows/$(1)-sections$(2).npy: $(RP)/read.variants.jsonl $(3)
	OMP_NUM_THREADS=1 $$(STRUCTKIT) encode -q -m $(or $(3),minilm) --field $(4) --quantize fp16 $(5) $$< -o $$@
$(RP)/rows/$(1)-tokens$(2).npy: $(RP)/read.variants.jsonl $(3)
	OMP_NUM_THREADS=1 $$(STRUCTKIT) encode -q -m $(or $(3),minilm) --rows tokens --field $(4) --quantize fp16 $(5) $$< -o $$@
$(RP)/rows/$(1)$(2).queries.npy $(RP)/rows/$(1)$(2).tokens.npy: $(RP)/rows/$(1)$(2).%.npy: $(RP)/rows/queries.jsonl $(3)
	OMP_NUM_THREADS=1 $$(STRUCTKIT) encode -q -m $(or $(3),minilm) --as query --field query \
	  $$(if $$(filter tokens,$$*),--rows tokens) $$< -o $$@
$(RP)/rows/$(1)-elements$(2).parts.jsonl $(RP)/rows/$(1)-sections$(2).parts.jsonl: $(RP)/rows/%.parts.jsonl: $(RP)/rows/%.npy $(RP)/rows/$(1)$(2).queries.npy
	$$(call PAGE_SEARCH)
$(RP)/rows/$(1)-tokens$(2).parts.jsonl: $(RP)/rows/$(1)-tokens$(2).npy $(RP)/rows/$(1)$(2).tokens.npy
	$$(call PAGE_SEARCH,--similarity maxsim)
ROW_RUNS += $(ROW_UNITS:%=$(RP)/rows/$(1)-%$(2).run.jsonl)
endef
ROW_MODELS := start seal
$(eval $(call page-rows,start,,,untagged,--length 96))
$(if $(filter seal,$(ROW_MODELS)),$(eval $(call page-rows,seal,@0,$(RP)/eal-sal@0.model,tagged)))
$(ROW_RUNS): $(RP)/rows/%.run.jsonl: $(RP)/rows/%.parts.jsonl
	$(PAGE_REPORT) documents $< --best 1 -o $@
$(RP)/rows/values-question.jsonl $(RP)/rows/values-lead.jsonl: $(RP)/rows/values-%.jsonl: $(RP)/rows/qrels-%.jsonl $(ROW_RUNS)
	$(STRUCTKIT) score --qrels $< --measures nDCG@10 --per-query $(ROW_RUNS) -o $@

# stated on 2026-11-28, before the first run: for questions, elements find more pages than sections do, and than the tokens
# of sections, before and after SEAL's training
PAGE_ROW_HYPOTHESES := $(foreach model,start seal,$(patsubst %,$(model)-elements:$(model)-%:question,sections tokens))
$(RP)/rows/report.json: $(RP)/rows/values-question.jsonl $(RP)/rows/values-lead.jsonl
	$(GATHER) $^ --title 'Rows of a page: nDCG@10' --against $(foreach model,$(ROW_MODELS),$(model)-sections $(model)-tokens) \
	  --stated $(PAGE_ROW_HYPOTHESES) --folder $(@D) --command 'make -C experiments rows-pages' -o $@ \
	  --data $(patsubst %,$(DATA)/structdoc/%.jsonl.gz,train_docs-00 train_docs-01 train_queries dev_docs dev_queries)
# bytes of a page's rows, and CPU milliseconds of a query, the start divided among all
$(RP)/rows/cost.md: $(ROW_RUNS)
	@printf '| system | bytes a page | milliseconds a query |\n|---|--:|--:|\n' > $@
	@queries=$$(wc -l < $(@D)/queries.jsonl); for each in $(^:%.run.jsonl=%); do \
	  seconds=$$(sed -E 's/.*"cpu":([0-9.]+).*/\1/' $$each.seconds); \
	  echo "| $$(basename $$each) | $$(($$(stat -c %s $$each.npy) / $(ROW_PAGES))) |" \
	  "$$(awk "BEGIN {print int(10000 * $$seconds / $$queries) / 10}") |"; done >> $@

# Rows of a tree: the pairs of sentences of four tasks, by the cosine of their roots, and by maxsim over their nodes or their
# words, both ways, each divided by its rows. StrAE learns from trees of the Stanford parser, one pass, three seeds.
RN := runs/rows-nodes
NODE_SEEDS := 0 1 2
NODE_KINDS := root nodes words mean
OF_NODES = STRAE=$(RN) CONSTITUENCY=stanford SENTENCES=20000
rows-nodes: $(INSTALLED) ## Rows of a tree: nodes, root, words
	$(call needs,strae_eval)
	@$(MAKE) --no-print-directory $(OF_NODES) $(RN)/rows/report.json
	$(TELL) show $(RN)/rows/report.json

$(RN)/rows/sentences.jsonl: $(RN)/eval-constituency.jsonl
	@mkdir -p $(@D)
	$(STRUCTKIT) select $< --where 'task~^(STS|SICK)' -o $@
$(RN)/rows/%-a.npy $(RN)/rows/%-b.npy: $(RN)/strae-c@%.model $(RN)/rows/sentences.jsonl
	for side in a b; do OMP_NUM_THREADS=1 $(STRUCTKIT) encode -q -m $^ --rows nodes --field text_$${side}_tree \
	  -o $(RN)/rows/$*-$$side.npy || exit 1; done
NODE_RUNS = $(foreach seed,$(NODE_SEEDS),$(NODE_KINDS:%=$(RN)/rows/%@$(seed).jsonl))
$(RN)/rows/root@%.jsonl: $(RN)/rows/sentences.jsonl $(RN)/rows/%-a.npy $(RN)/rows/%-b.npy
	OMP_NUM_THREADS=1 $(BIN)/python -m experiments.nodes $^ --seed $* -o $(@D)
$(RN)/rows/nodes@%.jsonl $(RN)/rows/words@%.jsonl $(RN)/rows/mean@%.jsonl: $(RN)/rows/root@%.jsonl ;
$(RN)/rows/scores.jsonl: $(NODE_RUNS)
	$(SUITE) $^ -o $@
$(RN)/rows/compared.jsonl: $(NODE_RUNS)
	$(SUITE) $^ -o $@ $(addprefix --compare ,$(filter-out $(RN)/rows/nodes@%,$^))

# stated on 2026-11-28, before the first run: nodes agree more with people than the root alone, than words, and than the
# mean of the words, over the mean of four tasks
NODE_HYPOTHESES := nodes:root nodes:words nodes:mean
$(RN)/rows/report.json: $(RN)/rows/scores.jsonl $(RN)/rows/compared.jsonl
	$(TELL) gather $^ --suite --stated $(NODE_HYPOTHESES) --title 'Rows of a tree: Spearman of four tasks' --folder $(RN) \
	  --command 'make -C experiments rows-nodes' --data $(DATA)/wikitext2_parsed.jsonl.gz -o $@

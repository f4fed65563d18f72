# SEAL and its controls. MiniLM is fine-tuned on raw text first (raw: PAIRS queries, first sentences and
# questions, with NEGATIVES mined by MiniLM itself), and every other system starts from that:
#   matched            raw text again, with as many passes as SEAL's two stages
#   matched-tags       the same over pages with tags, which are one token each
#   element-structure  SEAL: masked elements (EAL), then with and without tags (SAL); other orders
#   mcls, santa        MCLS on raw text; SANTA on tagged pages
# One model for each system and seed; each is searched in tagged pages and in untagged ones, and raw also
# with its pages in chunks. LENGTH is tokens of raw text; tagged text gets 1.3 times as many, to read
# the same text. report.json has the table with tests, and what each system saw.
SEAL_REPORTS := $(addprefix report-,seal seal-stages seal-tables seal-parts seal-untitled)
.PHONY: seal seal-tables $(SEAL_REPORTS)

SEAL := runs/seal
SEAL_SEEDS := 0 1 2
PAIRS := 1024
NEGATIVES := 1
MARGIN := 0.05
LENGTH := 256
TAGGED_LENGTH := $(shell expr $(LENGTH) \* 13 / 10)
# tokens of a chunk: as many of them as fit into TAGGED_LENGTH (chunk), or the whole page (chunk-page)
CHUNK := 110
# the pages lost their titles, which no query here is made of (empty: they stay so)
TITLES := keep
# tags are one token each (TAGS= leaves them in pieces)
TAGS := --tag-tokens
SANTA_MASK := --mask-ratio 0.5
SEAL_FLAGS = --query-length 32 --temperature 0.02 --batch-size 32 --epochs 1 --learning-rate 5e-5 $(BF16)
SEAL_RAW = --document-field untagged --document-length $(LENGTH)
# CLS tokens take room from text: as many tokens as SEAL
SEAL_MCLS = --document-field untagged --document-length $(TAGGED_LENGTH) --pooling mcls --mcls-every 64
SEAL_TAGGED = --document-length $(TAGGED_LENGTH) $(TAGS)
# EAL reads each page once, SAL twice
MATCHED := --epochs 3
ORDERS := element structure joint structure-element element-structure
SEAL_SYSTEMS := raw matched $(ORDERS) santa mcls
# `make seal-tables`: shares of the elements masked (hundredths), tags, and lengths
SHARES := 00 05 20 30 50
TAG_SETS := headings all
# MiniLM reads 512 tokens: a longer one needs an encoder with more positions
LENGTHS := 128 384
OTHER_SYSTEMS := $(SHARES:%=masked-%) content $(TAG_SETS:%=tags-%)
SEAL_MEASURES := nDCG@10 RR@10 HitRate@1 HitRate@3 HitRate@5 MRR@5

seal: $(RUNNABLE) ## SEAL and its controls on HTML
	$(call needs,structdoc/dev_docs.jsonl.gz)
	@$(MAKE) --no-print-directory $(SEAL)/table.md $(SEAL)/kinds.md $(SEAL)/report.json
	@tail -n +1 $(SEAL)/*.md

# first sentences, and questions; those that name their page as `this team` (deictic) are apart
KINDS = { $(STRUCTKIT) select $< --where kind=lead; \
  $(STRUCTKIT) select $< --where kind=question --where deictic=false; }

$(SEAL)/train-queries.jsonl: $(DATA)/structdoc/train_queries.jsonl.gz
	@mkdir -p $(SEAL)
	$(KINDS) | $(STRUCTKIT) select --sample $(PAIRS) -o $@

$(SEAL)/dev-queries.jsonl: $(DATA)/structdoc/dev_queries.jsonl.gz
	@mkdir -p $(SEAL)
	{ $(KINDS); $(STRUCTKIT) select $< --where deictic=true --set kind=deictic; } > $@

# each query names its document
$(SEAL)/%-qrels.jsonl: $(SEAL)/%-queries.jsonl
	$(STRUCTKIT) select $< --fields id,doc_id --rename id=query_id --set relevance:=1 -o $@

$(SEAL)/%-titles.jsonl: $(DATA)/structdoc/%_queries.jsonl.gz
	@mkdir -p $(SEAL)
	$(STRUCTKIT) select $< --where kind=title --fields doc_id,query --rename query=title -o $@

$(SEAL)/train-bare.jsonl: $(SEAL)/train-qrels.jsonl
	$(STRUCTKIT) select $(DATA)/structdoc/train_docs-0[01].jsonl.gz --in $< --on id=doc_id -o $@

$(SEAL)/dev-bare.jsonl: $(DATA)/structdoc/dev_docs.jsonl.gz
	@mkdir -p $(SEAL)
	$(STRUCTKIT) select $< -o $@

# a title goes back where it was: into a heading at the top
HEADED := --query title --positive-template '<h1>{title}</h1>{html}'
$(SEAL)/%-pages.jsonl: $(SEAL)/%-bare.jsonl $(SEAL)/%-titles.jsonl
	{ $(if $(TITLES),$(STRUCTKIT) select $< --in $(word 2,$^) --on id=doc_id \
	    | $(STRUCTKIT) select --join $(word 2,$^) --on id=doc_id | $(STRUCTKIT) pair $(HEADED) \
	    | $(STRUCTKIT) select --fields id$(comma)positive --rename positive=html;) \
	  $(STRUCTKIT) select $< $(if $(TITLES),--not-in $(word 2,$^) --on id=doc_id) --fields id$(comma)html; } > $@

$(SEAL)/%.variants.jsonl: $(SEAL)/%-pages.jsonl
	$(STRUCTKIT) html-variants $< --on-error skip -o $@

# pages that MiniLM confuses with the right one, but that score lower: others may be right themselves
$(SEAL)/mined.jsonl: $(SEAL)/train.variants.jsonl $(SEAL)/train-queries.jsonl
	OMP_NUM_THREADS=1 $(STRUCTKIT) encode --as document -m minilm --field untagged $< -o $(SEAL)/mined.npy
	$(STRUCTKIT) search $(SEAL)/mined.npy -m minilm -k 200 --queries $(SEAL)/train-queries.jsonl -o $@

$(SEAL)/pairs.jsonl: $(SEAL)/train-qrels.jsonl $(SEAL)/mined.jsonl $(SEAL)/train-pages.jsonl
	$(STRUCTKIT) pair --qrels $< --queries $(SEAL)/train-queries.jsonl --corpus $(SEAL)/train-pages.jsonl \
	  --negatives-from $(word 2,$^) --depth 200 --per-query $(NEGATIVES) --margin $(MARGIN) \
	  --on-error skip -o $@

$(SEAL)/variants.jsonl: $(SEAL)/pairs.jsonl
	$(STRUCTKIT) html-variants $< --field positive --on-error skip -o $@

# SANTA masks terms that query, title and body share; a page without any is only aligned, one without a
# title is left out
$(SEAL)/masked.jsonl: $(SEAL)/variants.jsonl
	$(STRUCTKIT) pair $< --query query --positive tagged \
	  | $(STRUCTKIT) mask-entities --language html --field positive --keep-plain $(SANTA_MASK) --on-error skip \
	    -o $@

comma := ,
TIMED := $(BIN)/python -m tests.benchmarks.processes
# a model: its name, method, records, flags, and the model it starts from
define seal-model
$(SEAL)/$(1)@%.model: $(SEAL)/$(3).jsonl $(if $(filter minilm,$(5)),,$(5))
	OMP_NUM_THREADS=1 $$(STRUCTKIT) train $(2) $$< -o $$@ --model $(if $(filter minilm,$(5)),minilm,$$(word 2,$$^)) \
	  $$(SEAL_FLAGS) --seed $$* $(4) \
	  $$(RESUME) --save-every 10 > $$(@:.model=.trained.jsonl)
endef
# a row of the table: its name, model, what is read of the pages, and which pages
define seal-search
$(SEAL)/$(1).run.jsonl: $(if $(filter minilm,$(2)),,$(2)) $(SEAL)/$(4).variants.jsonl $(SEAL)/dev-queries.jsonl
	OMP_NUM_THREADS=1 $$(TIMED) $$(@:.run.jsonl=.seconds) $$(STRUCTKIT) encode --as document \
	  -m $(if $(filter minilm,$(2)),minilm,$$<) $(3) $(SEAL)/$(4).variants.jsonl $(if $(BF16),--dtype bf16) \
	  -o $$(@:.run.jsonl=.npy)
	OMP_NUM_THREADS=1 $$(STRUCTKIT) search $$(@:.run.jsonl=.npy) -m $(if $(filter minilm,$(2)),minilm,$$<) \
	  --queries $(SEAL)/dev-queries.jsonl -o $$@
endef
BASE := $(SEAL)/raw@%.model
$(eval $(call seal-model,raw,contrastive,variants,$(SEAL_RAW),minilm))
$(eval $(call seal-model,matched,contrastive,variants,$(SEAL_RAW) $(MATCHED),$(BASE)))
$(eval $(call seal-model,matched-tags,contrastive,variants,--document-field tagged $(SEAL_TAGGED) $(MATCHED),$(BASE)))
$(eval $(call seal-model,mcls,contrastive,variants,$(SEAL_MCLS) $(MATCHED),$(BASE)))
$(eval $(call seal-model,santa,santa,masked,--normalize $(SEAL_TAGGED),$(BASE)))
$(foreach order,$(ORDERS),$(eval $(call seal-model,$(order),seal,variants,--stages \
  $(subst -,$(comma),$(order)) $(SEAL_TAGGED),$(BASE))))

# both losses at once make half as many steps in one pass
$(eval $(call seal-model,joint-longer,seal,variants,--stages joint $(SEAL_TAGGED) --epochs 2,$(BASE)))

VIEWS := untagged tagged
length-of = $(if $(filter mcls tagged,$(1)),$(TAGGED_LENGTH),$(LENGTH))
# a model searches pages with the tags that it knows; a system and a view
pages-of = dev$(if $(filter tagged,$(2)),$(addprefix -,$(filter tags-%,$(1))))
$(foreach view,$(VIEWS),$(eval $(call seal-search,start-$(view),minilm,--field $(view) --length $(call length-of,$(view)),dev)) \
  $(foreach system,$(sort $(SEAL_SYSTEMS) $(OTHER_SYSTEMS)),$(eval $(call \
    seal-search,$(system)-$(view)@%,$(SEAL)/$(system)@%.model,--field $(view) --length $(call \
    length-of,$(view) $(system)),$(call pages-of,$(system),$(view))))))
$(eval $(call seal-search,chunk@%,$(BASE),--field untagged --chunk $(CHUNK) --length $(TAGGED_LENGTH),dev))
$(eval $(call seal-search,chunk-page@%,$(BASE),--field untagged --chunk $(CHUNK),dev))
# a page is found by its best element; of what raw finds, maxsim brings up those with such an element
$(eval $(call seal-search,elements@%,$(BASE),--rows elements --field html,dev))
$(SEAL)/maxsim@%.run.jsonl: $(SEAL)/raw-untagged@%.run.jsonl $(SEAL)/elements@%.run.jsonl $(SEAL)/raw@%.model
	OMP_NUM_THREADS=1 $(STRUCTKIT) encode --as query -m $(word 3,$^) $(SEAL)/dev-queries.jsonl \
	  -o $(SEAL)/queries@$*.npy
	$(STRUCTKIT) rerank $< --corpus $(SEAL)/dev.variants.jsonl --queries $(SEAL)/dev-queries.jsonl \
	  --ranker maxsim=1 --embeddings $(SEAL)/elements@$*.npy --query-embeddings $(SEAL)/queries@$*.npy -o $@

$(SEAL)/bm25.run.jsonl: $(SEAL)/dev.variants.jsonl $(SEAL)/dev-queries.jsonl
	$(STRUCTKIT) search $< --method bm25 --document-field untagged --queries $(word 2,$^) -o $@

# of raw, by parts of a page
SEAL_PARTS := chunk chunk-page elements maxsim
SEAL_ROWS = $(SEAL_PARTS) $(foreach view,$(VIEWS),$(SEAL_SYSTEMS:%=%-$(view)))
SEAL_RUNS = $(patsubst %,$(SEAL)/%.run.jsonl,$(filter-out $(KEPT_RUNS),bm25 $(VIEWS:%=start-%) \
  $(foreach seed,$(SEAL_SEEDS),$(SEAL_ROWS:%=%@$(seed)))))
# deictic questions are not in the table
$(SEAL)/judged.jsonl: $(SEAL)/dev-queries.jsonl
	$(STRUCTKIT) select $< --where kind!=deictic --fields id,doc_id --rename id=query_id \
	  --set relevance:=1 -o $@

JUDGED = $(STRUCTKIT) score --qrels $(SEAL)/judged.jsonl --measures '$(SEAL_MEASURES)'
$(SEAL)/systems: $(SEAL_RUNS)
$(SEAL)/table.md $(SEAL)/kinds.md $(SEAL)/values.jsonl: $(SEAL)/systems
$(SEAL)/table.md: $(SEAL)/judged.jsonl $(SEAL_RUNS)
	$(JUDGED) --markdown $(SEAL_RUNS) -o $@

$(SEAL)/kinds.md: $(SEAL)/dev-qrels.jsonl $(SEAL_RUNS)
	$(STRUCTKIT) score --qrels $< --measures nDCG@10 --by kind --queries $(SEAL)/dev-queries.jsonl \
	  --markdown $(SEAL_RUNS) -o $@

$(SEAL)/values.jsonl: $(SEAL)/judged.jsonl $(SEAL_RUNS)
	$(JUDGED) --per-query $(SEAL_RUNS) -o $@

SEAL_CONTROLS := $(if $(SEAL_SEEDS),$(filter $(SEAL_ROWS),matched-untagged raw-untagged matched-tagged \
  element-structure-untagged structure-untagged),start-untagged)
# SEAL above raw text, at equal passes too, also in tagged pages; what reads more of a page above both; SEAL
# above the other methods, one stage, and the other order; without training, tags and BM25
SEAL_HYPOTHESES := element-structure-untagged:raw-untagged element-structure-untagged:matched-untagged \
  element-structure-tagged:matched-tagged chunk:raw-untagged elements:raw-untagged bm25:raw-untagged \
  $(patsubst %,%:element-structure-untagged,$(patsubst %,%-untagged,santa mcls element structure structure-element) \
  chunk chunk-page) start-tagged:start-untagged bm25:start-untagged
# stated on 2026-11-23, before the first run of `make seal-tables`: a tenth of the elements masked is above other shares,
# and above masking their content too; the tags of structure are above headings alone, and above all
SEAL_HYPOTHESES += $(OTHER_SYSTEMS:%=%-untagged:element-structure-untagged)
# stated on 2026-11-25, before the run with both: EAL is above SAL, in as many steps (SAL reads twice as much)
SEAL_HYPOTHESES += element-untagged:structure-untagged
# stated on 2026-11-26, before a run with both: EAL -> SAL is above both losses at once; on 2026-11-27, before that run:
# in as many steps, too
SEAL_HYPOTHESES += $(patsubst %,%-untagged:element-structure-untagged,joint joint-longer)
SEAL_TITLE = HTML pages: SEAL $(if $(filter $(OTHER_SYSTEMS),$(SEAL_SYSTEMS)),with other masks and tags: $(filter $(OTHER_SYSTEMS),$(SEAL_SYSTEMS)),and its controls)$(if $(TITLES),,; pages without titles)
$(SEAL)/report.json: $(SEAL)/values.jsonl
	$(GATHER) $< --title '$(SEAL_TITLE)' --against $(SEAL_CONTROLS) --stated $(SEAL_HYPOTHESES) \
	  --command 'make seal PAIRS=$(PAIRS) LENGTH=$(LENGTH)$(if $(TITLES),, TITLES=) SEAL_SYSTEMS="$(SEAL_SYSTEMS)" SEAL_SEEDS="$(SEAL_SEEDS)"$(if $(SEAL_PARTS),, SEAL_PARTS= VIEWS=$(VIEWS))' \
	  --data $(foreach name,dev_docs dev_queries train_docs-00 train_docs-01 train_queries,$(DATA)/structdoc/$(name).jsonl.gz) \
	  --folder $(SEAL) --corpus $(SEAL)/dev.variants.jsonl -o $@

# Tables 5 to 7 of the paper, and a curve: EAL, then SAL, with other shares of the elements masked (and
# with their content), with other tags, and all of `make seal` without titles and at other lengths.
TAGS_headings := h1,h2,h3,h4,h5,h6
TAGS_all := all

$(SEAL)/masked-%.variants.jsonl: $(SEAL)/pairs.jsonl
	$(STRUCTKIT) html-variants $< --field positive --mask-ratio 0.$* --on-error skip -o $@

# at least one element is masked; none is: what was tagged is what is masked
$(SEAL)/masked-00.variants.jsonl: $(SEAL)/variants.jsonl
	$(STRUCTKIT) select $< --fields id,tagged,negatives_tagged --rename tagged=masked \
	  --rename negatives_tagged=negatives_masked -o $(SEAL)/unmasked.jsonl
	$(STRUCTKIT) select $< --fields id,query,tagged,untagged,negatives_tagged,negatives_untagged \
	  | $(STRUCTKIT) select --join $(SEAL)/unmasked.jsonl -o $@

$(SEAL)/content.variants.jsonl: $(SEAL)/pairs.jsonl
	$(STRUCTKIT) html-variants $< --field positive --mask content --on-error skip -o $@

$(SEAL)/tags-%.variants.jsonl: $(SEAL)/pairs.jsonl
	$(STRUCTKIT) html-variants $< --field positive --tags $(TAGS_$*) --on-error skip -o $@

# a page that has none of them is its text
$(SEAL)/dev-tags-%.variants.jsonl: $(SEAL)/dev-pages.jsonl $(SEAL)/dev.variants.jsonl
	$(STRUCTKIT) html-variants $< --tags $(TAGS_$*) --on-error skip -o $@.some
	{ cat $@.some; $(STRUCTKIT) select $(word 2,$^) --not-in $@.some --fields id,untagged --rename untagged=tagged; } > $@

$(foreach system,$(OTHER_SYSTEMS),$(eval $(call \
  seal-model,$(system),seal,$(system).variants,$(SEAL_TAGGED),$(BASE))))

# SEAL with other masks, tags, titles and lengths: make seal-tables
seal-tables: $(RUNNABLE)
	$(call needs,structdoc/dev_docs.jsonl.gz)
	@$(MAKE) --no-print-directory seal SEAL_SYSTEMS='raw element structure element-structure $(OTHER_SYSTEMS)' SEAL_PARTS= VIEWS=untagged
	@$(MAKE) --no-print-directory seal SEAL=$(SEAL)-untitled TITLES= SEAL_SYSTEMS='$(CURVE)'
	@$(foreach length,$(LENGTHS),$(MAKE) --no-print-directory seal SEAL=$(SEAL)-$(length) LENGTH=$(length) \
	  SEAL_SYSTEMS='$(CURVE)';)
CURVE := raw matched element-structure

# without a model to train, tables have the same rows
report-seal-untitled: TITLES :=
SLICE_OF_SEAL = $(if $(TITLES),seal,seal-untitled)
report-seal report-seal-stages: PAIRS := 512
report-seal-tables report-seal-parts: SLICE_OF_SEAL := seal-tables
report-seal-tables report-seal-parts: VIEWS := untagged
$(SEAL_REPORTS): report-%:
	@$(MAKE) --no-print-directory runs/report/$(SLICE_OF_SEAL)/report.json \
	  SEAL=runs/report/$(SLICE_OF_SEAL) PAIRS='$(PAIRS)' TITLES='$(TITLES)' VIEWS='$(VIEWS)' SEAL_PARTS= \
	  SEAL_SYSTEMS='$(AGAIN)' SEAL_SEEDS='$(AGAIN_SEED)'
	$(TELL) check experiments/reports/$*.json runs/report/$(SLICE_OF_SEAL)/report.json

import pytest

from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.library.patterns import Consolidations
from moot.store.library.projects import Projects
from moot.types.errors import NotFound
from moot.types.knowledge import ExtractedPattern
from moot.types.projects import PostChange, PostDraft, Project, ProjectChange, ProjectDraft
from tests.support.accounts import ANNA, BERT, create_accounts, create_discussion


@pytest.fixture
async def projects(database: Database) -> Projects:
    await create_accounts(database)
    return Projects(database)


@pytest.fixture
async def sample_project(projects: Projects) -> Project:
    return await projects.create_project(ANNA, ProjectDraft(name="Moot", description="A table.", repository="a/moot"))


def make_found_pattern(title: str, frequency: int) -> ExtractedPattern:
    return ExtractedPattern(
        kind="pattern",
        title=title,
        description="So it is.",
        evidence=("seen",),
        frequency=frequency,
        tags=("a", "b"),
    )


async def test_project_round_trips_through_update_and_delete(projects: Projects, sample_project: Project) -> None:
    assert sample_project.id.startswith("project_")
    assert await projects.get_project(ANNA, sample_project.id) == sample_project
    changed = await projects.update_project(ANNA, sample_project.id, ProjectChange(description=""))
    assert (changed.name, changed.description, changed.repository) == ("Moot", "", "a/moot")
    assert await projects.update_project(ANNA, sample_project.id, ProjectChange()) == changed
    await projects.delete_project(ANNA, sample_project.id)
    with pytest.raises(NotFound, match=sample_project.id):
        await projects.get_project(ANNA, sample_project.id)


async def test_project_belongs_to_its_tenant(projects: Projects, sample_project: Project) -> None:
    post = await projects.add_post(ANNA, sample_project.id, PostDraft(title="News"))
    other = await projects.create_project(BERT, ProjectDraft(name="Other"))
    for forbidden in (
        projects.get_project(BERT, sample_project.id),
        projects.update_project(BERT, sample_project.id, ProjectChange(name="Mine")),
        projects.delete_project(BERT, sample_project.id),
        projects.list_posts(BERT, sample_project.id),
        projects.add_post(BERT, sample_project.id, PostDraft(title="Mine")),
        projects.update_post(BERT, sample_project.id, post.id, PostChange(title="Mine")),
        projects.update_post(BERT, other.id, post.id, PostChange(title="Mine")),
        projects.delete_post(BERT, sample_project.id, post.id),
        projects.delete_post(BERT, other.id, post.id),
        projects.project_facts(BERT, sample_project.id),
    ):
        with pytest.raises(NotFound):
            await forbidden
    assert [one.id for one in (await projects.list_projects(BERT)).projects] == [other.id]
    assert (await projects.list_posts(ANNA, sample_project.id)).posts == (post,)


async def test_projects_are_paged_newest_first(projects: Projects) -> None:
    made = [(await projects.create_project(ANNA, ProjectDraft(name=f"P{n}"))).id for n in range(3)]
    newest = sorted(made, reverse=True)
    first = await projects.list_projects(ANNA, limit=2)
    assert [one.id for one in first.projects] == newest[:2]
    rest = await projects.list_projects(ANNA, limit=2, cursor=first.next)
    assert [one.id for one in rest.projects] == newest[2:]
    assert rest.next is None


async def test_post_is_a_draft_until_published(projects: Projects, sample_project: Project) -> None:
    draft = await projects.add_post(ANNA, sample_project.id, PostDraft(title="News", excerpt="Soon."))
    assert draft.published_at is None
    published = await projects.update_post(ANNA, sample_project.id, draft.id, PostChange(published=True))
    assert published.published_at is not None
    again = await projects.update_post(ANNA, sample_project.id, draft.id, PostChange(published=True, title="Old news"))
    assert (again.published_at, again.title, again.excerpt) == (published.published_at, "Old news", "Soon.")
    assert (await projects.update_post(ANNA, sample_project.id, draft.id, PostChange())) == again
    taken_back = await projects.update_post(ANNA, sample_project.id, draft.id, PostChange(published=False))
    assert taken_back.published_at is None
    await projects.delete_post(ANNA, sample_project.id, draft.id)
    assert (await projects.list_posts(ANNA, sample_project.id)).posts == ()


async def test_posts_are_paged_newest_first(projects: Projects, sample_project: Project) -> None:
    made = [(await projects.add_post(ANNA, sample_project.id, PostDraft(title=f"P{n}"))).id for n in range(3)]
    first = await projects.list_posts(ANNA, sample_project.id, limit=2)
    rest = await projects.list_posts(ANNA, sample_project.id, limit=2, cursor=first.next)
    assert [one.id for one in (*first.posts, *rest.posts)] == sorted(made, reverse=True)
    assert rest.next is None


async def test_discussions_survive_deletion_of_their_project(
    projects: Projects, sample_project: Project, database: Database
) -> None:
    discussion = await create_discussion(database, ANNA, "Hello", project=sample_project.id)
    await projects.add_post(ANNA, sample_project.id, PostDraft(title="News"))
    await projects.delete_project(ANNA, sample_project.id)
    assert (await Discussions(database).get_discussion(ANNA, discussion.id)).project is None


async def test_project_facts_include_five_newest_published_posts(projects: Projects, sample_project: Project) -> None:
    for number in range(7):
        await projects.add_post(ANNA, sample_project.id, PostDraft(title=f"P{number}", published=True))
    await projects.add_post(ANNA, sample_project.id, PostDraft(title="a draft"))
    facts = await projects.project_facts(ANNA, sample_project.id)
    assert facts.project == sample_project
    assert [post.title for post in facts.posts] == ["P6", "P5", "P4", "P3", "P2"]


async def test_project_facts_include_ten_patterns_of_newest_completed_consolidation(
    projects: Projects, sample_project: Project, database: Database
) -> None:
    consolidations = Consolidations(database)
    assert (await projects.project_facts(ANNA, sample_project.id)).patterns == ()
    old = await consolidations.start_consolidation(ANNA, sample_project.id, "scripted/echo")
    await consolidations.complete_consolidation(ANNA, old, "scripted/echo", [make_found_pattern("old", 99)])
    new = await consolidations.start_consolidation(ANNA, sample_project.id, "scripted/echo")
    await consolidations.complete_consolidation(
        ANNA, new, "scripted/echo", [make_found_pattern(f"{n:02}", n) for n in range(1, 13)]
    )
    failed = await consolidations.start_consolidation(ANNA, sample_project.id, "scripted/echo")
    await consolidations.fail_consolidation(ANNA, failed, "It broke.")
    await consolidations.start_consolidation(ANNA, sample_project.id, "scripted/echo")  # still running
    patterns = (await projects.project_facts(ANNA, sample_project.id)).patterns
    assert [pattern.frequency for pattern in patterns] == [12, 11, 10, 9, 8, 7, 6, 5, 4, 3]
